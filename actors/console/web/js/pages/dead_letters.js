// SPDX-License-Identifier: Apache-2.0
// Deliveries that will not be tried again until a person says so.
import {may} from "../api.js";
import {h} from "../dom.js";
import {state, time} from "../format.js";
import {orderLink} from "../links.js";
import {list} from "../table.js";
import {resolve} from "./exceptions.js";

export const deadLetters = {path: "dead-letters", title: "Dead letters", menu: "Dead letters", show};

const ACTIONS = [{action: "redrive", says: "Drive again"}, {action: "close", says: "Close"}];

function buttons(ids, reload) {
  return ACTIONS.map((action) => h("button", {class: action.action === "close" ? "danger" : "", onclick: () => resolve("dead", ids, action, reload)}, action.says));
}

function show({main, query, keep}) {
  const table = list({
    path: "/api/dead-letters", caption: "Dead letters, oldest first", values: query, keep,
    filters: [
      {name: "state", label: "State", type: "select", options: [["", "open"], ["redriven", "redriven"], ["closed", "closed"]]},
      {name: "merchant_id", label: "Merchant"}, {name: "order_no", label: "Order"}, {name: "reason", label: "Reason"}, {name: "event", label: "Event"},
    ],
    columns: [
      {title: "Event", cell: (item) => [h("a", {href: "#/notifications/" + item.notify_id}, item.event), h("div", {class: "hint"}, item.notify_id)]},
      {title: "Order", cell: (item) => h("a", {href: orderLink(item.merchant_id, item.order_no)}, `${item.merchant_id} ${item.order_no}`)},
      {title: "Reason", cell: (item) => [item.reason, h("div", {class: "hint"}, [item.last_http_code, item.last_error].filter(Boolean).join(" "))]},
      {title: "Died", cell: (item) => time(item.dead_at)},
      {title: "State", cell: (item) => state(item.state)},
      {title: "Do", cell: (item) => (item.state === "open" && may("operator") ? h("div", {class: "buttons"}, buttons([item.id], () => table.reload())) : "")},
    ],
    select: may("operator"), idOf: (item) => item.id, bulk: (ids) => buttons(ids, () => table.reload()),
    empty: "Nothing is dead.",
  });
  main.append(table.element);
}
