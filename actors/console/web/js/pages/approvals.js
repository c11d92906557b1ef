// SPDX-License-Identifier: Apache-2.0
// What waits for a second person: seen whole, then approved or rejected.
import {get, may, path, post, session} from "../api.js";
import {h, say} from "../dom.js";
import {ask, REASON} from "../form.js";
import {json, money, state, time} from "../format.js";
import {facts, list} from "../table.js";

export const approvals = {path: "approvals", title: "Approvals", menu: "Approvals", show};

function show(page) {
  if (page.parts.length > 0) showOne(page, page.parts[0]);
  else showAll(page);
}

function showAll({main, query, keep}) {
  main.append(list({
    path: "/api/approvals",
    caption: "Approvals",
    values: query,
    keep,
    filters: [
      {name: "state", label: "State", type: "select", options: [["", "open"], ["all", "all"], ["executed", "executed"], ["rejected", "rejected"],
        ["withdrawn", "withdrawn"], ["expired", "expired"], ["stale", "stale"]]},
      {name: "asked_by", label: "Asked by"},
    ],
    columns: [
      {title: "No.", cell: (item) => h("a", {href: "#/approvals/" + item.id}, item.id)},
      {title: "What", cell: (item) => [item.action, h("div", {class: "hint"}, item.subject || item.object)]},
      {title: "Asked by", cell: (item) => [item.asked_by, h("div", {class: "hint"}, item.ask_reason)]},
      {title: "At", cell: (item) => time(item.asked_at)},
      {title: "Expires", cell: (item) => time(item.expires_at)},
      {title: "State", cell: (item) => state(item.stale ? "stale" : item.state)},
    ],
    empty: "Nobody waits for an approval.",
  }).element);
}

function decide(item, decision, reload) {
  return ask({
    title: decision === "approve" ? `Approve request ${item.id}` : `Reject request ${item.id}`,
    about: [h("p", {}, `${item.action}, asked by ${item.asked_by}`), json(item.content)],
    fields: [REASON],
    button: decision === "approve" ? "Approve: it is done at once" : "Reject",
    danger: decision === "reject",
    act: (values) => post(path("/api/approvals/{id}/decide", item), {decision, reason: values.reason, content_hash: item.content_hash}),
  }).then((done) => {
    if (!done) return;
    say(decision === "approve" ? `Request ${item.id} is approved and done.` : `Request ${item.id} is rejected.`);
    reload();
  });
}

function withdraw(item, reload) {
  return ask({title: `Withdraw request ${item.id}`, fields: [REASON], button: "Withdraw",
    act: (values) => post(path("/api/approvals/{id}/withdraw", item), values)}).then((done) => {
    if (done) reload();
  });
}

function buttons(item, reload) {
  if (item.state !== "open") return null;
  const own = item.asked_by === session.operator;
  return h("div", {class: "buttons"},
    !own && may("approver") && h("button", {class: "primary", onclick: () => decide(item, "approve", reload)}, "Approve"),
    !own && may("approver") && h("button", {class: "danger", onclick: () => decide(item, "reject", reload)}, "Reject"),
    own && h("button", {onclick: () => withdraw(item, reload)}, "Withdraw"),
    own && h("p", {class: "hint"}, "Another person decides."));
}

async function showOne({main, signal, reload}, id) {
  try {
    const item = await get(path("/api/approvals/{id}", {id}), signal);
    main.append(facts([
      ["Request", item.id], ["What", item.action], ["About", item.subject || item.object],
      ["Order", item.order_no && h("a", {href: `#/orders/${encodeURIComponent(item.merchant_id)}/${encodeURIComponent(item.order_no)}`}, `${item.merchant_id} ${item.order_no}`)],
      ["Amount", item.amount === undefined ? "" : money(item.amount, item.currency)],
      ["Asked by", item.asked_by], ["Asked at", time(item.asked_at)], ["Why", item.ask_reason], ["Expires", time(item.expires_at)],
      ["State", state(item.stale ? "stale" : item.state)], ["Decided by", item.decided_by], ["Decided at", time(item.decided_at)], ["Because", item.decide_reason],
    ]), h("h2", {}, "Content"), json(item.content));
    if (item.result) main.append(h("h2", {}, "Result"), json(item.result));
    main.append(h("p", {class: "hint"}, "Fingerprint of what is approved: " + item.content_hash));
    const acts = buttons(item, reload);
    if (acts) main.append(acts);
  } catch (failure) {
    if (failure.name !== "AbortError") say(failure.message, "bad");
  }
}
