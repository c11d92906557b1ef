// SPDX-License-Identifier: Apache-2.0
// What merchants were told, and how each delivery went.
import {get, may, path, post} from "../api.js";
import {h, say} from "../dom.js";
import {ask, REASON} from "../form.js";
import {duration, json, state, time} from "../format.js";
import {orderLink} from "../links.js";
import {facts, list} from "../table.js";

export const notifications = {path: "notifications", title: "Notifications", menu: "Notifications", show};

function show(page) {
  if (page.parts.length > 0) showOne(page, page.parts[0]);
  else showAll(page);
}

function showAll({main, query, keep}) {
  main.append(list({
    path: "/api/notifications", caption: "Notifications, newest first", values: query, keep,
    filters: [
      {name: "merchant_id", label: "Merchant"}, {name: "order_no", label: "Order"}, {name: "event", label: "Event"},
      {name: "status", label: "Status", type: "select", options: [["", "all"], ...["pending", "delivered", "dead", "cancelled"].map((word) => [word, word])]},
    ],
    columns: [
      {title: "Event", cell: (item) => [h("a", {href: "#/notifications/" + item.notify_id}, item.event), h("div", {class: "hint"}, item.notify_id)]},
      {title: "Order", cell: (item) => h("a", {href: orderLink(item.merchant_id, item.order_no)}, `${item.merchant_id} ${item.order_no}`)},
      {title: "Status", cell: (item) => [state(item.status), item.phase && item.phase !== item.status && h("div", {class: "hint"}, item.phase)]},
      {title: "Tries", cell: (item) => `${item.attempts} of ${item.max_attempts}`},
      {title: "Last answer", cell: (item) => [item.last_http_code || "", h("div", {class: "hint"}, item.last_error || "")]},
      {title: "Created", cell: (item) => time(item.created_at)},
      {title: "Next try", cell: (item) => time(item.next_attempt_at)},
    ],
    empty: "No notification is like that.",
  }).element);
}

function act(title, address, reload, danger, says) {
  return ask({title, fields: [REASON], button: title, danger, act: (values) => post(address, values)}).then((done) => {
    if (!done) return;
    if (done.ok === false) say(done.says || "It was not done: it has ended meanwhile.", "bad");
    else say(says);
    reload();
  });
}

function attempts(items) {
  if (items.length === 0) return h("p", {}, "It was not tried yet.");
  return h("ol", {class: "timeline"}, items.map((one) => h("li", {}, h("details", {},
    h("summary", {}, time(one.started_at), ` try ${one.attempt}: `, state(one.outcome), " ", one.http_code || one.error || "", h("span", {class: "hint"}, ` ${one.duration_ms} ms`)),
    facts([["Endpoint", one.endpoint_id], ["Error", one.error], ["HTTP code", one.http_code]]), one.response ? json(one.response) : h("p", {class: "hint"}, "No body was kept.")))));
}

async function showOne({main, signal, reload}, notify_id) {
  try {
    const {notification, body, deliveries, attempts: tried} = await get(path("/api/notifications/{notify_id}", {notify_id}), signal);
    main.append(facts([["Notification", notify_id], ["Event", notification.event], ["Says", notification.status], ["Version", notification.version],
      ["Order", h("a", {href: orderLink(notification.merchant_id, notification.order_no)}, `${notification.merchant_id} ${notification.order_no}`)],
      ["Priority", "P" + notification.priority], ["Created", time(notification.created_at)]]));
    if (may("operator")) {
      main.append(h("div", {class: "buttons"},
        h("button", {onclick: () => act("Send it again", path("/api/notifications/{notify_id}/resend", {notify_id}), reload, false, "It is sent again: the same id, the same bytes.")}, "Send it again"),
        deliveries.some((one) => one.status === "pending") && h("button", {class: "danger", onclick: () => act("Cancel it", path("/api/notifications/{notify_id}/cancel", {notify_id}), reload, true,
          "The wish is recorded; a delivery under way may win.")}, "Cancel it")));
    }
    main.append(h("h2", {}, "Deliveries"), ...deliveries.map((one) => h("section", {class: "card"}, facts([["Endpoint", one.endpoint_id], ["Address", one.notify_url], ["Status", state(one.status)],
      ["Phase", one.phase], ["Tries", `${one.attempts} of ${one.max_attempts}`], ["Next try", time(one.next_attempt_at)], ["Last HTTP code", one.last_http_code], ["Last error", one.last_error],
      ["Delivered", time(one.delivered_at)], ["It took", one.delivered_at ? duration((new Date(one.delivered_at) - new Date(one.created_at)) / 1000) : ""]]))),
    h("h2", {}, "Tries"), attempts(tried || []), h("h2", {}, "Body, as it is sent"), json(body));
  } catch (failure) {
    if (failure.name !== "AbortError") say(failure.message, "bad");
  }
}
