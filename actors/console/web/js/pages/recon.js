// SPDX-License-Identifier: Apache-2.0
// Statements of channels: files, what differs from our books, rows that nobody can read.
import {may, path, post} from "../api.js";
import {h, say} from "../dom.js";
import {ask, REASON} from "../form.js";
import {json, money, number, state, time} from "../format.js";
import {orderLink} from "../links.js";
import {list} from "../table.js";
import {resolve} from "./exceptions.js";

export const recon = {path: "recon", title: "Reconciliation", menu: "Reconciliation", show};

const PARTS = [["files", "Files"], ["differences", "Differences"], ["quarantine", "Quarantine"], ["runs", "Runs"]];

function show(page) {
  const part = page.parts[0] || "files";
  page.main.append(h("nav", {class: "tabs", "aria-label": "Parts of reconciliation"}, PARTS.map(([name, title]) =>
    h("a", {href: "#/recon/" + name, "aria-current": name === part ? "page" : null}, title))));
  page.main.append(({files, differences, quarantine, runs}[part] || files)(page));
}

// One act on a statement that is held.
function actOn(item, verb, title, reload) {
  return h("button", {class: verb === "close" ? "danger" : "", onclick: () => ask({title: `${title}: statement ${item.file_id}`, fields: [REASON], button: title, danger: verb === "close",
    act: (values) => post(path(`/api/recon/files/{file_id}/${verb}`, item), values)}).then((done) => {
    if (!done) return;
    say(verb === "close" ? "It is as if it had never come." : "It is matched next.");
    reload();
  })}, title);
}

function files({query, keep}) {
  const table = list({
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
      {title: "Do", cell: (item) => (item.status === "held" && may("operator") ? h("div", {class: "buttons"}, actOn(item, "release", "Trust it", () => table.reload()),
        actOn(item, "close", "Give it up", () => table.reload())) : "")},
    ],
    empty: "No statement was imported yet: see Runs.",
  });
  return table.element;
}

const RUN = [
  {name: "channel", label: "Channel", required: true, maxlength: 56}, {name: "date", label: "Day, where the channel is", type: "date", required: true},
  {name: "source", label: "From", type: "select", options: [["download", "the channel: it is asked for its statement"], ["directory", "the directory: a file that was dropped there"]]},
  {name: "format", label: "Format", maxlength: 64, hint: "Empty: the channel's."},
  {name: "correct", label: "it takes the place of the statement that is there", type: "checkbox"}, REASON];

// The days that are expected, and those that were asked for here.
function runs({query, keep}) {
  const table = list({
    path: "/api/recon/runs", caption: "Days, newest first", values: query, keep,
    filters: [{name: "channel", label: "Channel"}, {name: "open", label: "not come yet", type: "checkbox"}],
    columns: [
      {title: "Day", cell: (item) => [item.statement_date, h("div", {class: "hint"}, item.channel)]},
      {title: "State", cell: (item) => [state(item.asked_by ? "asked" : item.done_at ? "done" : item.last_error ? "failed" : "expected"), h("div", {class: "hint"}, item.asked_by ? "by " + item.asked_by : "")]},
      {title: "Statement", cell: (item) => (item.file_id ? h("a", {href: "#/recon/differences?file_id=" + item.file_id}, item.file_id) : "")},
      {title: "Why not", cell: (item) => item.last_error || ""}, {title: "Tries", cell: (item) => number(item.tries)},
      {title: "Next", cell: (item) => (item.done_at ? "" : time(item.next_at))}, {title: "Came", cell: (item) => time(item.done_at)},
    ],
    empty: "No channel has a schedule: postrider recon set.",
  });
  const run = () => ask({title: "Reconcile a day", about: h("p", {}, "The reconciler takes it at its next look, and tries once."), fields: RUN, button: "Reconcile",
    act: (values) => post("/api/recon/runs", values)}).then((done) => {
    if (!done) return;
    say(done.says);
    table.reload();
  });
  return h("div", {}, may("operator") && h("div", {class: "buttons"}, h("button", {class: "primary", onclick: run}, "Reconcile a day")), table.element);
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
