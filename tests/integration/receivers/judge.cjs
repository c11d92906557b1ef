// SPDX-License-Identifier: Apache-2.0
// Runs the snippets of docs/receivers.md over cases: node judge.cjs FOLDER < cases.json > results.json
const fs = require("node:fs");
const path = require("node:path");
const load = (name) => require(path.join(process.argv[2], name));
const { verify, verifyXSignature } = load("verify.js");
const { verifyEd25519 } = load("ed25519.js");
const { verifyForm } = load("form.js");

const kinds = {
  standard: ({ headers, body, secrets }) => Boolean(verify(headers, body, secrets)),
  x: ({ headers, body, secrets }) => verifyXSignature(headers, body, secrets),
  ed25519: ({ headers, body, secrets }) => verifyEd25519(headers, body, secrets),
  form: ({ body, secrets }) => Boolean(verifyForm(body.toString(), secrets[0])),
};
const results = JSON.parse(fs.readFileSync(0, "utf8")).map((one) => {
  try {
    return kinds[one.kind]({ ...one, body: Buffer.from(one.body, "base64") });
  } catch (error) {
    return false;
  }
});
process.stdout.write(JSON.stringify(results));
