// SPDX-License-Identifier: Apache-2.0
// What gateways sent, byte for byte, and what became of it.
import {get, may, path, post} from "../api.js";
import {h, say} from "../dom.js";
import {ask, REASON} from "../form.js";
import {json, state, time} from "../format.js";
import {facts, list} from "../table.js";

export const webhooks = {path: "webhooks", title: "Webhooks", menu: "Webhooks", show};

function show(page) {
  if (page.parts.length > 0) showOne(page, page.parts[0]);
  else showAll(page);
}

function showAll({main, query, keep}) {
  main.append(list({
    path: "/api/webhooks", caption: "Webhooks, newest first", values: query, keep,
    filters: [
      {name: "channel", label: "Channel"}, {name: "payment_id", label: "Payment"},
      {name: "status", label: "Status", type: "select", options: [["", "all"], ...["received", "verified", "applied", "ignored", "orphan", "failed", "refused", "task"].map((word) => [word, word])]},
    ],
    columns: [
      {title: "No.", cell: (item) => h("a", {href: "#/webhooks/" + (item.webhook_id)}, item.webhook_id)},
      {title: "Channel", cell: (item) => item.channel},
      {title: "Received", cell: (item) => time(item.received_at)},
      {title: "Status", cell: (item) => [state(item.status), h("div", {class: "hint"}, item.reason || item.result || "")]},
      {title: "Payment", cell: (item) => (item.payment_id ? h("a", {href: "#/payments/" + item.payment_id}, item.payment_id) : "")},
    ],
    empty: "No webhook is like that.",
  }).element);
}

async function showOne({main, signal, reload}, webhook_id) {
  try {
    const {webhook, headers, body, items} = await get(path("/api/webhooks/{webhook_id}", {webhook_id}), signal);
    main.append(facts(Object.entries(webhook).filter(([, value]) => typeof value !== "object" || value === null).map(([name, value]) => [name.replaceAll("_", " "), name.endsWith("_at") ? time(value) : value])));
    if (may("operator")) {
      main.append(h("div", {class: "buttons"}, h("button", {onclick: () => ask({title: `Apply webhook ${webhook_id} again`, fields: [REASON], button: "Apply again",
        about: h("p", {}, "Whether it was genuine was judged when it came; that stands."),
        act: (values) => post(path("/api/webhooks/{webhook_id}/redrive", {webhook_id}), values)}).then((done) => {
        if (!done) return;
        say(`It is ${done.state || "done"}: ${done.result || done.says || ""}`);
        reload();
      })}, "Apply again")));
    }
    main.append(h("h2", {}, "Headers"), json(headers), h("h2", {}, "Body"), json(body && body.base64 !== undefined ? body.base64 + "\n(base64)" : body), h("h2", {}, "What was read of it"), json(items));
  } catch (failure) {
    if (failure.name !== "AbortError") say(failure.message, "bad");
  }
}
