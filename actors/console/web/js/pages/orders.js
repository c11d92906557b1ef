// SPDX-License-Identifier: Apache-2.0
// One order: everything that is known of it, in the order in which it happened (C8), with what was sent and answered.
import {get, may, path, post} from "../api.js";
import {h, say} from "../dom.js";
import {ask, REASON} from "../form.js";
import {json, money, number, state, time} from "../format.js";
import {facts} from "../table.js";

export const orders = {path: "orders", title: "Order", menu: null, show};

const EVIDENCE = {name: "evidence", label: "Evidence (JSON)", type: "json", required: true,
                  hint: "What shows that it is so: {\"statement\": \"2026-11-30, line 12\"}."};

// What moves money or changes a payment is asked for here, and done when another person approves it.
const ASKED = {
  decide: {title: "Decide how this payment ended", action: "payment.decide", fields: [
    {name: "state", label: "It has", type: "select", options: [["succeeded", "succeeded"], ["failed", "failed"], ["cancelled", "been cancelled"]]}, EVIDENCE, REASON],
    content: ({state: end, evidence}) => ({state: end, evidence})},
  refund: {title: "Give money back", action: "payment.refund", fields: [
    {name: "refund_no", label: "Refund number", required: true, maxlength: 64, hint: "The same number twice is one refund."},
    {name: "amount", label: "Amount in minor units", type: "number", min: 1, required: true}, REASON],
    content: ({refund_no, amount}) => ({refund_no, amount})},
  cancel: {title: "Close it at the channel", action: "payment.cancel", fields: [REASON], content: () => ({})},
};

export function askFor(what, payment, reload) {
  const spec = ASKED[what];
  return ask({
    title: `${spec.title}: payment ${payment.payment_id}`,
    about: h("p", {}, "It takes two: another person with the role approver has to approve it."),
    fields: spec.fields, button: "Ask for approval",
    act: (values) => post("/api/approvals", {action: spec.action, object: String(payment.payment_id), content: spec.content(values), reason: values.reason}),
  }).then((approval) => {
    if (!approval) return;
    say(`Asked for: approval ${approval.id} waits for another person.`);
    reload();
  });
}

export function pollNow(payment, reload) {
  return ask({title: `Ask the channel now: payment ${payment.payment_id}`, fields: [REASON], button: "Ask now",
    act: (values) => post(path("/api/payments/{payment_id}/poll", payment), values)}).then((done) => {
    if (!done) return;
    say("It is asked as soon as the channel's rate allows.");
    reload();
  });
}

export function paymentButtons(payment, reload) {
  if (!may("operator")) return null;
  const open = ["created", "processing"].includes(payment.state);
  return h("div", {class: "buttons"},
    open && h("button", {onclick: () => pollNow(payment, reload)}, "Ask the channel now"),
    open && h("button", {onclick: () => askFor("cancel", payment, reload)}, "Close (two)"),
    open && h("button", {onclick: () => askFor("decide", payment, reload)}, "Decide (two)"),
    payment.state === "succeeded" && h("button", {onclick: () => askFor("refund", payment, reload)}, "Refund (two)"));
}

function payments(items, reload) {
  return items.map((item) => h("section", {class: "card"}, h("h2", {}, h("a", {href: "#/payments/" + item.payment_id}, "Payment " + item.payment_id), " ", state(item.status || item.state)),
    facts([["Amount", money(item.amount_minor ?? item.amount, item.currency)], ["Channel", h("a", {href: "#/channels/" + encodeURIComponent(item.channel)}, item.channel)],
      ["Gateway's number", item.gateway_reference], ["Why a person", item.manual_reason], ["Refunded", item.refunded_minor ? money(item.refunded_minor, item.currency) : ""],
      ["Next question", time(item.next_poll_at)], ["Expires", time(item.expires_at)]]), paymentButtons(item, reload)));
}

// [[name, value], ...] as they went over the wire, or an object.
function headerLines(headers) {
  const pairs = Array.isArray(headers) ? headers : Object.entries(headers);
  return pairs.length === 0 ? null : h("pre", {class: "json", tabindex: "0"}, pairs.map(([name, value]) => `${name}: ${value}`).join("\n"));
}

// For people first; what that has moved stands below as it was.
function bodyOf(body) {
  const shown = json(body);
  if (typeof body !== "string" || shown.textContent === body) return shown;
  return [shown, h("details", {}, h("summary", {}, "Byte for byte"), h("pre", {class: "json", tabindex: "0"}, body))];
}

// What went out, or what came back: "METHOD URL" or a status, headers, body; all else that is known in one line.
export function exchange(label, said) {
  if (!said) return null;
  const {body, headers, method, url, bytes, cut, ...rest} = said;
  const known = Object.entries(rest).filter(([, value]) => value !== null && value !== "");
  return h("div", {class: "exchange"}, h("h3", {}, label),
    url && h("p", {class: "wire"}, `${method || "POST"} ${url}`),
    known.length > 0 && h("p", {}, known.map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`).join(" · ")),
    headers && headerLines(headers), body !== null && body !== undefined && bodyOf(body), cut && h("p", {class: "hint"}, `Cut: ${number(bytes)} bytes in all.`));
}

function event(item) {
  const inner = [exchange("Request", item.request), exchange("Response", item.response),
                 item.detail && Object.keys(item.detail).length > 0 ? json(item.detail) : null].filter(Boolean);
  const head = [time(item.at), " ", h("span", {class: "kind"}, item.kind), " ", item.title, item.who && h("span", {class: "hint"}, " by " + item.who)];
  return h("li", {}, inner.length > 0 ? h("details", {}, h("summary", {}, head), inner) : h("p", {}, head));
}

async function show({main, parts, signal, reload}) {
  const [merchant_id, order_no] = parts;
  if (!order_no) {
    main.append(h("p", {}, "Which order? ", h("a", {href: "#/search"}, "Search"), " for its number."));
    return;
  }
  try {
    const order = await get(path("/api/merchants/{merchant_id}/orders/{order_no}", {merchant_id, order_no}), signal);
    const tasks = order.tasks || [], approvals = order.approvals || [];
    main.append(facts([["Merchant", h("a", {href: "#/merchants/" + encodeURIComponent(merchant_id)}, merchant_id)], ["Order", order_no],
      ["Goods", order.fulfilment && state(order.fulfilment.state || String(order.fulfilment))],
      ["Tasks", tasks.length > 0 && h("ul", {class: "plain"}, tasks.map((task) => h("li", {}, h("a", {href: "#/tasks/" + task.task_no}, task.task_no), " ", task.biz_type, " ", state(task.status || task.state))))],
      ["Approvals", approvals.length > 0 && h("ul", {class: "plain"}, approvals.map((one) => h("li", {}, h("a", {href: "#/approvals/" + one.id}, one.id), " ", one.action, " ", state(one.state))))],
    ].map(([label, value]) => [label, value || ""])), ...payments(order.payments || [], reload));
    if ((order.refunds || []).length > 0) {
      main.append(h("h2", {}, "Refunds"), h("ul", {class: "plain"}, order.refunds.map((one) => h("li", {}, `${one.refund_no}: `, money(one.amount_minor ?? one.amount, one.currency), " ", state(one.state)))));
    }
    main.append(h("h2", {}, `Timeline, ${number((order.timeline || []).length)} entries`), h("ol", {class: "timeline"}, (order.timeline || []).map(event)),
      order.truncated ? h("p", {class: "hint"}, "There is more; the lists of notifications, webhooks and tasks have all of it.") : "");
  } catch (failure) {
    if (failure.name !== "AbortError") say(failure.message, "bad");
  }
}
