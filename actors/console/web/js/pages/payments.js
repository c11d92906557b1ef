// SPDX-License-Identifier: Apache-2.0
// Payments, and all that is known of one.
import {get, path} from "../api.js";
import {h, say} from "../dom.js";
import {json, money, state, time} from "../format.js";
import {linkTo, orderLink} from "../links.js";
import {facts, list} from "../table.js";
import {exchange, paymentButtons} from "./orders.js";

export const payments = {path: "payments", title: "Payments", menu: "Payments", show};

function show(page) {
  if (page.parts.length > 0) showOne(page, page.parts[0]);
  else showAll(page);
}

function showAll({main, query, keep}) {
  main.append(list({
    path: "/api/payments", caption: "Payments, newest first", values: query, keep,
    filters: [
      {name: "merchant_id", label: "Merchant"}, {name: "order_no", label: "Order"}, {name: "channel", label: "Channel"},
      {name: "state", label: "State", type: "select", options: [["", "all"], ...["created", "processing", "succeeded", "failed", "cancelled"].map((word) => [word, word])]},
      {name: "manual", label: "with a person", type: "checkbox"},
    ],
    columns: [
      {title: "Payment", cell: (item) => h("a", {href: "#/payments/" + item.payment_id}, item.payment_id)},
      {title: "Order", cell: (item) => h("a", {href: orderLink(item.merchant_id, item.order_no)}, `${item.merchant_id} ${item.order_no}`)},
      {title: "Amount", cell: (item) => money(item.amount_minor ?? item.amount, item.currency)},
      {title: "Status", cell: (item) => [state(item.status || item.state), item.manual_reason && h("div", {class: "hint"}, item.manual_reason)]},
      {title: "Channel", cell: (item) => [item.channel, h("div", {class: "hint"}, item.gateway_reference || "")]},
      {title: "Created", cell: (item) => time(item.created_at)},
      {title: "Next question", cell: (item) => time(item.next_poll_at)},
    ],
    empty: "No payment is like that.",
  }).element);
}

// What a list of rows has, as a table of its own members: lists of few rows, no pages.
export function rows(title, items) {
  if (!items || items.length === 0) return null;
  return [h("h2", {}, title), h("ol", {class: "timeline"}, items.map((item) => h("li", {}, h("details", {}, h("summary", {},
    time(item.at || item.created_at || item.received_at || item.asked_at), " ", item.operation || item.task_no || item.refund_no || item.action || item.source || item.channel || "", " ",
    item.from !== undefined && item.to ? `${item.from || ""} -> ${item.to} ` : "", state(item.status || item.state || item.verdict)), whole(item)))))];
}

// A call shows what was sent and what came back first.
function whole({exchange: said, ...item}) {
  return [said && exchange("Request", said.request), said && exchange("Response", said.response), json(item)];
}

async function showOne({main, signal, reload}, payment_id) {
  try {
    const all = await get(path("/api/payments/{payment_id}", {payment_id}), signal), payment = all.payment;
    main.append(facts([["Payment", payment_id], ["Status", state(payment.status || payment.state)], ["Order", h("a", {href: orderLink(payment.merchant_id, payment.order_no)}, `${payment.merchant_id} ${payment.order_no}`)],
      ["Amount", money(payment.amount_minor ?? payment.amount, payment.currency)], ["Captured", payment.captured_minor ? money(payment.captured_minor, payment.currency) : ""],
      ["Refunded", payment.refunded_minor ? money(payment.refunded_minor, payment.currency) : ""], ["Channel", h("a", {href: linkTo({kind: "channel", id: payment.channel})}, payment.channel)],
      ["Gateway's number", payment.gateway_reference], ["Application's", payment.app_ref], ["Why a person", payment.manual_reason], ["Failure", payment.failure_code],
      ["Version", payment.version], ["Created", time(payment.created_at)], ["Expires", time(payment.expires_at)], ["Next question", time(payment.next_poll_at)]]));
    const acts = paymentButtons(payment, reload);
    if (acts) main.append(acts);
    for (const [title, items] of [["Refunds", all.refunds], ["Evidence", all.evidence], ["Calls", all.calls], ["Webhooks", all.webhooks], ["Tasks", all.tasks], ["Approvals", all.approvals]]) {
      const part = rows(title, items);
      if (part) main.append(...part);
    }
  } catch (failure) {
    if (failure.name !== "AbortError") say(failure.message, "bad");
  }
}
