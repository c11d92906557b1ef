// SPDX-License-Identifier: Apache-2.0
// The queue of everything that waits for a person, and its resolutions.
import {get, may, post} from "../api.js";
import {h, replace, say} from "../dom.js";
import {ask, REASON} from "../form.js";
import {age, duration, money, number, state, time} from "../format.js";
import {list} from "../table.js";

const KINDS = ["payment", "refund", "task", "difference", "quarantine", "dead", "channel", "endpoint"];

export const exceptions = {path: "exceptions", title: "Exceptions", menu: "Exceptions", show};

function title(item) {
  const link = item.order_no && item.merchant_id ? `#/orders/${encodeURIComponent(item.merchant_id)}/${encodeURIComponent(item.order_no)}` : null;
  const order = link ? h("a", {href: link}, `${item.merchant_id} ${item.order_no}`) : null;
  return [item.title || item.id, order && h("div", {}, order), h("div", {class: "hint"}, item.reason)];
}

// What a resolution wants beside a reason.
function fieldsOf(action) {
  const evidence = {name: "evidence", label: "Evidence (JSON)", type: "json", hint: "What shows that it is so: a statement, the channel's answer."};
  if (["succeeded", "failed", "cancelled", "refunded"].includes(action.action)) return [evidence, REASON];
  if (action.action === "resume") return [{name: "evidence", label: "Test call (JSON)", type: "json", hint: "For a stopped channel: what came of a test call."}, REASON];
  return [REASON];
}

// Each by itself: what came of it, or what would.
function each(results) {
  return h("ul", {class: "plain results"}, results.map((one) => h("li", {}, state(one.ok ? "ok" : "refused"), " ", one.id, ": ",
    one.approval_id ? h("a", {href: "#/approvals/" + one.approval_id}, `approval ${one.approval_id} waits for another person`) : one.error || one.says || "can be done")));
}

function tell(result) {
  const [first] = result.results;
  if (result.count > 1) {
    ask({title: `${result.done} of ${result.count} done, ${result.refused} refused`, about: each(result.results), button: null});
    say(`${result.done} done, ${result.refused} refused.`, result.refused > 0 ? "bad" : undefined);
  } else if (!first.ok) say(`${first.id}: ${first.error}`, "bad");
  else if (first.approval_id) say(`Asked for: approval ${first.approval_id} waits for another person.`);
  else say(first.says || "Done.");
}

// One resolution of one or many of the same kind. Many are tried dry first, so that their number, and what would be refused, is seen.
export async function resolve(kind, ids, action, done) {
  const outcome = h("div", {class: "status", role: "status"});
  let tried = "";
  const result = await ask({
    title: `${action.says || action.action}: ${ids.length === 1 ? ids[0] : ids.length + " of kind " + kind}`,
    about: [action.four_eyes && h("p", {}, "It takes two: another person with the role approver has to approve it."), outcome],
    fields: fieldsOf(action),
    button: action.four_eyes ? "Ask for approval" : "Do it",
    danger: action.action === "close",
    act: async (values) => {
      const wanted = {kind, ids, action: action.action, reason: values.reason,
        ...(values.evidence ? {detail: action.action === "resume" ? {test: values.evidence} : values.evidence} : {})};
      if (ids.length > 1 && tried !== JSON.stringify(wanted)) {
        const dry = await post("/api/exceptions/resolve", {...wanted, dry_run: true});
        replace(outcome, h("p", {}, `${dry.done} of ${dry.count} can be done, ${dry.refused} would be refused.`), each(dry.results));
        if (dry.done === 0) throw new Error("Nothing of it can be done.");
        tried = JSON.stringify(wanted);
        throw new Error("Nothing was done yet. Press again to go on.");
      }
      const did = await post("/api/exceptions/resolve", wanted);
      if (ids.length === 1 && !did.results[0].ok) throw new Error(did.results[0].error);
      return did;
    },
  });
  if (result) {
    tell(result);
    done();
  }
}

// What all of these may end by: one kind at a time has a door for many.
function together(items, done) {
  if (items.some((item) => item.kind !== items[0].kind)) return h("span", {class: "hint"}, "Of one kind at a time.");
  const shared = (items[0].actions || []).filter((action) => may(action.role || "operator") &&
    items.every((item) => (item.actions || []).some((other) => other.action === action.action)));
  return shared.map((action) => h("button", {onclick: () => resolve(items[0].kind, items.map((item) => item.id), action, done)}, action.action + (action.four_eyes ? " (two)" : "")));
}

function buttons(item, done) {
  if (item.approval) {
    return h("a", {href: "#/approvals/" + item.approval.id}, `approval ${item.approval.id} waits, asked by ${item.approval.asked_by}`);
  }
  return h("div", {class: "buttons"}, (item.actions || []).filter((action) => may(action.role || "operator")).map((action) =>
    h("button", {onclick: () => resolve(item.kind, [item.id], action, done)}, action.action + (action.four_eyes ? " (two)" : ""))));
}

function summary(kinds, chosen, choose) {
  return h("div", {class: "tiles"}, kinds.filter((one) => one.count > 0 || one.kind === chosen).map((one) =>
    h("section", {class: "tile"}, h("h2", {}, one.kind), h("p", {class: "big" + (one.overdue > 0 ? " bad" : "")},
      h("button", {class: "quiet", "aria-pressed": String(one.kind === chosen), onclick: () => choose(one.kind)}, number(one.count) + (one.more ? "+" : ""))),
    h("p", {}, `${number(one.overdue)} over their time (${duration(one.sla_s)})`), one.oldest_at && h("p", {}, "oldest: ", age(one.oldest_at)))));
}

async function show({main, query, signal, keep, reload}) {
  const head = h("div", {});
  const table = list({
    path: "/api/exceptions",
    caption: "Exceptions, oldest first",
    values: query,
    keep,
    filters: [
      {name: "kind", label: "Kind", type: "select", options: [["", "all"], ...KINDS.map((kind) => [kind, kind])]},
      {name: "merchant_id", label: "Merchant"}, {name: "channel", label: "Channel"}, {name: "order_no", label: "Order"},
      {name: "overdue", label: "over their time", type: "checkbox"},
    ],
    columns: [
      {title: "Kind", cell: (item) => item.kind},
      {title: "What", cell: title},
      {title: "Amount", cell: (item) => money(item.amount, item.currency)},
      {title: "State", cell: (item) => state(item.state)},
      {title: "Since", cell: (item) => [time(item.since), h("div", {class: "hint"}, duration(item.age_s), item.overdue && " ", item.overdue && state("overdue"))]},
      {title: "Resolve", cell: (item) => buttons(item, () => table.reload())},
    ],
    select: may("operator"),
    idOf: (item) => item.kind + " " + item.id,
    bulk: (_, items) => together(items, () => table.reload()),
    empty: "Nothing waits for a person.",
  });
  main.append(head, table.element);
  try {
    const {kinds} = await get("/api/exceptions/summary", signal);
    replace(head, summary(kinds, query.kind, (kind) => {
      keep({...query, kind: query.kind === kind ? "" : kind});
      reload();
    }));
  } catch (failure) {
    if (failure.name !== "AbortError") say(failure.message, "bad");
  }
}
