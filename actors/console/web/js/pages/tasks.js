// SPDX-License-Identifier: Apache-2.0
// Compensation tasks, and how each went.
import {get, may, path} from "../api.js";
import {h, say} from "../dom.js";
import {json, state, time} from "../format.js";
import {orderLink} from "../links.js";
import {facts, list} from "../table.js";
import {resolve} from "./exceptions.js";
import {rows} from "./payments.js";

export const tasks = {path: "tasks", title: "Tasks", menu: "Tasks", show};

function show(page) {
  if (page.parts.length > 0) showOne(page, page.parts[0]);
  else showAll(page);
}

function showAll({main, query, keep}) {
  main.append(list({
    path: "/api/tasks", caption: "Tasks", values: query, keep,
    filters: [
      {name: "status", label: "Status", type: "select", options: [["", "open"], ["all", "all"], ...["WAITING", "PROCESSING", "RETRY", "MANUAL", "SUCCESS", "CLOSED"].map((word) => [word, word])]},
      {name: "biz_type", label: "Kind"}, {name: "merchant_id", label: "Merchant"}, {name: "order_no", label: "Order"}, {name: "source", label: "Source"},
    ],
    columns: [
      {title: "Task", cell: (item) => [h("a", {href: "#/tasks/" + item.task_no}, item.task_no), h("div", {class: "hint"}, item.biz_type)]},
      {title: "Order", cell: (item) => (item.order_no ? h("a", {href: orderLink(item.merchant_id, item.order_no)}, `${item.merchant_id} ${item.order_no}`) : item.biz_id)},
      {title: "Status", cell: (item) => state(item.status)},
      {title: "Why", cell: (item) => [item.last_error_code || "", h("div", {class: "hint"}, item.last_error_message || "")]},
      {title: "Tries", cell: (item) => `${item.retry_count} of ${item.retry_limit}`},
      {title: "Next", cell: (item) => time(item.next_run_at)},
      {title: "Created", cell: (item) => time(item.created_at)},
    ],
    empty: "No task is open.",
  }).element);
}

async function showOne({main, signal, reload}, task_no) {
  try {
    const {task, moves, difference, approvals, kind, actions} = await get(path("/api/tasks/{task_no}", {task_no}), signal);
    main.append(facts([["Task", task_no], ["Kind", task.biz_type], ["About", task.biz_id], ["Status", state(task.status)],
      ["Order", task.order_no && h("a", {href: orderLink(task.merchant_id, task.order_no)}, `${task.merchant_id} ${task.order_no}`)], ["Source", task.source],
      ["Payment", task.payment_id && h("a", {href: "#/payments/" + task.payment_id}, task.payment_id)], ["Code", task.last_error_code], ["Why", task.last_error_message], ["Tries", `${task.retry_count} of ${task.retry_limit}`],
      ["Held by", task.lock_owner], ["Closed by", task.closed_by], ["Conclusion", task.conclusion], ["Follows", task.follows], ["Next run", time(task.next_run_at)], ["Created", time(task.created_at)]]));
    if (task.status === "MANUAL" && may("operator")) {
      main.append(h("div", {class: "buttons"}, actions.filter((action) => may(action.role || "operator")).map((action) =>
        h("button", {title: action.says, onclick: () => resolve(kind, [task_no], action, reload)}, action.action + (action.four_eyes ? " (two)" : "")))));
    }
    if (task.request) main.append(h("h2", {}, "Request"), json(task.request));
    if (task.result) main.append(h("h2", {}, "Result"), json(task.result));
    if (difference) main.append(h("h2", {}, "Difference"), json(difference));
    for (const part of [rows("Moves", moves), rows("Approvals", approvals)]) if (part) main.append(...part);
  } catch (failure) {
    if (failure.name !== "AbortError") say(failure.message, "bad");
  }
}
