// SPDX-License-Identifier: Apache-2.0
// Judges cases with npm's `standardwebhooks` (its folder is the first argument) and, for v1a, with
// Node's own ed25519. JSON in: [{secret, headers, body (base64)}]; JSON out: [true | "why not"].
const fs = require("node:fs");
const crypto = require("node:crypto");
const { Webhook } = require(process.argv[2]);

const PREFIX = Buffer.from("302a300506032b6570032100", "hex"); // SubjectPublicKeyInfo of ed25519

function verifyEd25519(secret, headers, body) {
  const raw = Buffer.from(secret.slice("whpk_".length), "base64");
  const key = crypto.createPublicKey({ key: Buffer.concat([PREFIX, raw]), format: "der", type: "spki" });
  const text = Buffer.concat([
    Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`), body]);
  const good = headers["webhook-signature"].split(" ").some((one) =>
    one.startsWith("v1a,") && crypto.verify(null, text, key, Buffer.from(one.slice(4), "base64")));
  if (!good) throw new Error("no matching v1a signature");
}

const results = JSON.parse(fs.readFileSync(0, "utf8")).map(({ secret, headers, body }) => {
  const bytes = Buffer.from(body, "base64");
  try {
    if (secret.startsWith("whpk_")) verifyEd25519(secret, headers, bytes);
    else new Webhook(secret).verify(bytes, headers, { jsonParse: false });
    return true;
  } catch (error) {
    return String(error.message || error);
  }
});
process.stdout.write(JSON.stringify(results));
