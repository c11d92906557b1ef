// SPDX-License-Identifier: Apache-2.0
// Statements of channels: files, what differs from our books, rows that nobody can read.
import {may} from "../api.js";
import {h} from "../dom.js";
import {json, money, number, state, time} from "../format.js";
import {orderLink} from "../links.js";
import {list} from "../table.js";
import {resolve} from "./exceptions.js";

export const recon = {path: "recon", title: "Reconciliation", menu: "Reconciliation", show};

const PARTS = [["files", "Files"], ["differences", "Differences"], ["quarantine", "Quarantine"]];

function show(page) {
  const part = page.parts[0] || "files";
  page.main.append(h("nav", {class: "tabs", "aria-label": "Parts of reconciliation"}, PARTS.map(([name, title]) =>
    h("a", {href: "#/recon/" + name, "aria-current": name === part ? "page" : null}, title))));
  page.main.append(({files, differences, quarantine}[part] || files)(page));
}

function files({query, keep}) {
  return list({
    path: "/api/recon/files", caption: "Statements, newest first", values: query, keep,
    filters: [{name: "channel", label: "Channel"}, {name: "status", label: "Status"}],
    columns: [
      {title: "File", cell: (item) => [h("a", {href: "#/recon/differences?file_id=" + item.file_id}, item.file_id), h("div", {class: "hint"}, item.name || "")]},
      {title: "Channel", cell: (item) => [item.channel, h("div", {class: "hint"}, item.kind || "")]},
      {title: "Day", cell: (item) => item.statement_date},
      {title: "Status", cell: (item) => [state(item.status), h("div", {class: "hint"}, item.reason || "")]},
      {title: "Rows", cell: (item) => number(item.rows)},
      {title: "Bad rows", cell: (item) => h("a", {href: "#/recon/quarantine?file_id=" + item.file_id}, number(item.bad))},
      {title: "Differences", cell: (item) => number(item.differences)},
      {title: "Imported", cell: (item) => time(item.created_at)},
    ],
    empty: "No statement was imported yet: postrider recon run.",
  }).element;
}

function differences({query, keep}) {
  const table = list({
    path: "/api/recon/differences", caption: "Differences, newest first", values: query, keep,
    filters: [{name: "channel", label: "Channel"}, {name: "class", label: "Class"}, {name: "status", label: "Status", type: "select",
      options: [["", "all"], ...["open", "explained", "repaired", "closed"].map((word) => [word, word])]}, {name: "merchant_id", label: "Merchant"}, {name: "order_no", label: "Order"}, {name: "file_id", label: "File"}],
    columns: [
      {title: "No.", cell: (item) => [item.difference_id, h("div", {class: "hint"}, item.class)]},
      {title: "Order", cell: (item) => (item.order_no && item.merchant_id ? h("a", {href: orderLink(item.merchant_id, item.order_no)}, `${item.merchant_id} ${item.order_no}`) : item.order_no || "")},
      {title: "Theirs", cell: (item) => side(item.theirs, item.currency)}, {title: "Ours", cell: (item) => side(item.ours, item.currency)},
      {title: "Status", cell: (item) => [state(item.status), h("div", {class: "hint"}, item.conclusion || item.reason || "")]},
      {title: "Task", cell: (item) => (item.task_no ? [h("a", {href: "#/tasks/" + item.task_no}, item.task_no), " ", state(item.task_status)] : "")},
      {title: "Found", cell: (item) => time(item.opened_at)},
    ],
    empty: "Nothing differs.",
  });
  return table.element;
}

function side(said, currency) {
  if (!said || Object.keys(said).length === 0) return "missing";
  const amount = said.amount_minor ?? said.amount;
  return h("details", {}, h("summary", {}, amount === undefined || amount === null ? said.state || "show" : money(amount, said.currency || currency), " ", said.state || ""), json(said));
}

function quarantine({query, keep}) {
  const table = list({
    path: "/api/recon/quarantine", caption: "Rows that nobody can read", values: query, keep,
    filters: [{name: "file_id", label: "File"}, {name: "open", label: "open only", type: "checkbox"}],
    columns: [
      {title: "File", cell: (item) => item.file_id}, {title: "Line", cell: (item) => number(item.line)}, {title: "Reason", cell: (item) => [item.reason, h("div", {class: "hint"}, item.detail || "")]},
      {title: "As it stands", cell: (item) => h("pre", {class: "json", tabindex: "0"}, item.raw || "")},
      {title: "State", cell: (item) => state(item.closed_at ? "closed" : "open")},
      {title: "Do", cell: (item) => (may("operator") && !item.closed_at ? h("button", {onclick: () => resolve("quarantine", [String(item.row_id)], {action: "close", says: "Close"}, () => table.reload())}, "Close") : "")},
    ],
    select: may("operator"), idOf: (item) => String(item.row_id),
    bulk: (ids) => h("button", {onclick: () => resolve("quarantine", ids, {action: "close", says: "Close"}, () => table.reload())}, "Close"),
    empty: "Every row was understood.",
  });
  return table.element;
}
