// SPDX-License-Identifier: Apache-2.0
// Who did what, and why: a chain of hashes, each over the row before it.
import {get} from "../api.js";
import {h, replace} from "../dom.js";
import {json, time} from "../format.js";
import {orderLink} from "../links.js";
import {list} from "../table.js";

export const audit = {path: "audit", title: "Audit", menu: "Audit", show};

async function show({main, query, signal, keep}) {
  const head = h("p", {class: "hint"});
  main.append(head, list({
    path: "/api/audit", caption: "Audit log, newest first", values: query, keep,
    filters: [{name: "who", label: "Who"}, {name: "action", label: "Action"}, {name: "subject", label: "Subject"}, {name: "merchant_id", label: "Merchant"}, {name: "order_no", label: "Order"}],
    columns: [
      {title: "No.", cell: (item) => item.n ?? item.id},
      {title: "At", cell: (item) => time(item.at)},
      {title: "Who", cell: (item) => [item.actor, item.login && item.login !== item.actor && h("div", {class: "hint"}, "as " + item.login)]},
      {title: "Action", cell: (item) => item.action},
      {title: "Subject", cell: (item) => [item.subject, item.order_no && h("div", {}, h("a", {href: orderLink(item.merchant_id, item.order_no)}, `${item.merchant_id} ${item.order_no}`))]},
      {title: "Why", cell: (item) => item.reason || ""},
      {title: "Detail", cell: (item) => (item.detail && Object.keys(item.detail).length > 0 ? h("details", {}, h("summary", {}, "show"), json(item.detail)) : "")},
    ],
    empty: "Nobody did anything like that.",
  }).element);
  try {
    const {n, hash} = await get("/api/audit/head", signal);
    replace(head, `Row ${n}, hash ${hash}. Keep it elsewhere: postrider audit verify --head proves later that nothing before it was changed or taken away.`);
  } catch {
    replace(head); // the list says what is wrong
  }
}
