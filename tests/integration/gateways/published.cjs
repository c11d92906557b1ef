// SPDX-License-Identifier: Apache-2.0
// Asks the gateways' own SDKs (npm; their node_modules is the first argument). JSON in: a list of
// {sdk, do, ...}; JSON out: a list of answers, or of texts "error: why".
const fs = require("node:fs");
const path = require("node:path");
const load = (name) => require(path.join(process.argv[2], name));

let Stripe, WxPay, AlipaySdk, hmacValidator;
try {
  Stripe = load("stripe");
  WxPay = load("wechatpay-node-v3");
  ({ AlipaySdk } = load("alipay-sdk"));
  ({ hmacValidator } = load("@adyen/api-library"));
} catch (error) {
  process.stderr.write(`${error.message}\n`); // this Node is too old for one of them
  process.exit(3);
}

const bare = (pem) => pem.replace(/-----[A-Z ]+-----/g, "").replace(/\s/g, "");

function wechat(ask) {
  const pay = new WxPay({
    appid: "wx1", mchid: ask.mchid, serial_no: ask.serial,
    publicKey: Buffer.from(ask.public), privateKey: Buffer.from(ask.private), key: ask.key,
  });
  if (ask.do === "authorization") {
    const signature = pay.getSignature(ask.method, ask.nonce, ask.timestamp, ask.target, ask.body);
    return pay.getAuthorization(ask.nonce, ask.timestamp, signature);
  }
  if (ask.do === "decipher") return pay.decipher_gcm(ask.ciphertext, ask.associated, ask.nonce, ask.key);
  WxPay.certificates[ask.key_id] = ask.public;
  return pay.verifySign({
    timestamp: ask.timestamp, nonce: ask.nonce, body: ask.body, serial: ask.key_id, signature: ask.signature,
  });
}

function alipay(ask) {
  const sdk = new AlipaySdk({
    appId: "1", privateKey: bare(ask.private), keyType: "PKCS8", alipayPublicKey: bare(ask.public), signType: "RSA2",
  });
  if (ask.do === "answer") {
    sdk.checkResponseSign(ask.body, ask.name, ask.signature, "trace");
    return true;
  }
  return sdk.checkNotifySign(ask.fields, true);
}

function stripe(ask) {
  if (ask.do === "make")
    return Stripe.webhooks.generateTestHeaderString({ payload: ask.body, secret: ask.secret, timestamp: ask.timestamp });
  // the last argument is "now", in milliseconds
  return Stripe.webhooks.constructEvent(ask.body, ask.header, ask.secret, 300, undefined, ask.timestamp * 1000).id;
}

function adyen(ask) {
  const validator = new hmacValidator();
  return ask.do === "make" ? validator.calculateHmac(ask.item, ask.key) : validator.validateHMAC(ask.item, ask.key);
}

async function main() {
  const sdks = { wechat, alipay, stripe, adyen };
  const answers = [];
  for (const ask of JSON.parse(fs.readFileSync(0, "utf8"))) {
    try {
      answers.push(await sdks[ask.sdk](ask));
    } catch (error) {
      answers.push(`error: ${error.message || error}`);
    }
  }
  process.stdout.write(JSON.stringify(answers));
}

main();
