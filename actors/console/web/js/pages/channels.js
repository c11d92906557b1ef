// SPDX-License-Identifier: Apache-2.0
// Accounts at gateways: whether they work, their limits, their last calls.
import {get, may, path, post} from "../api.js";
import {h, say} from "../dom.js";
import {ask, REASON} from "../form.js";
import {number, state, time} from "../format.js";
import {facts, list} from "../table.js";
import {rows} from "./payments.js";

export const channels = {path: "channels", title: "Channels", menu: "Channels", show};

const LIMITS = [["rate_per_s", "Calls per second", "0: no limit"], ["burst", "Calls at once after a rest", ""], ["concurrency", "Calls under way at most", ""]];

function show(page) {
  if (page.parts.length > 0) showOne(page, page.parts[0]);
  else showAll(page);
}

function showAll({main}) {
  main.append(list({
    path: "/api/channels", caption: "Channels",
    columns: [
      {title: "Channel", cell: (item) => [h("a", {href: "#/channels/" + encodeURIComponent(item.channel)}, item.channel), h("div", {class: "hint"}, item.profile)]},
      {title: "State", cell: (item) => [state(item.state), h("div", {class: "hint"}, item.state_reason || "")]},
      {title: "Since", cell: (item) => time(item.state_at)},
      {title: "Calls waiting", cell: (item) => number(item.calls_waiting)},
      {title: "Under way", cell: (item) => number(item.calls_under_way)},
      {title: "Rate", cell: (item) => `${item.rate_per_s || "no limit"} a second, ${item.concurrency} at once`},
    ],
    empty: "There is no channel yet: postrider channel add.",
  }).element);
}

function act(channel, verb, spec, reload) {
  return ask({title: `${spec.title}: ${channel}`, about: h("p", {}, spec.about), fields: [...(spec.fields || []), REASON], button: spec.button, danger: spec.danger,
    act: (values) => post(path(`/api/channels/{channel}/${verb}`, {channel}), values)}).then((done) => {
    if (!done) return;
    if (done.ok === false) say(done.says || "It was so already.", "bad");
    else say("Done. It acts within two seconds.");
    reload();
  });
}

const PAUSE = {title: "Pause", button: "Pause", danger: true, about: "Nothing is asked and nothing is charged over it until it is resumed. Webhooks are taken all the same."};
const MAINTAIN = {title: "Maintenance", button: "Begin", danger: true, about: "The gateway is down for a known reason: as paused, and said so."};
const RESUME = {title: "Resume", button: "Resume", about: "Calls go out again."};
const RESTART = {...RESUME, about: "It was stopped because its credential or configuration was refused. Say what came of a test call.",
                 fields: [{name: "test", label: "Test call (JSON)", type: "json", required: true, hint: "As `postrider channel resume` prints it, which makes one by itself."}]};

function limits(channel, item, reload) {
  return ask({title: `Limits of ${channel}`, fields: [...LIMITS.map(([name, label, hint]) => ({name, label, hint, type: "number", min: 0, value: item[name]})), REASON], button: "Set",
    act: ({reason, ...settings}) => post(path("/api/channels/{channel}", {channel}), {settings, reason})}).then((done) => {
    if (!done) return;
    say("Set. It acts within two seconds.");
    reload();
  });
}

function buttons(channel, item, reload) {
  const one = (verb, spec) => h("button", {class: spec.danger ? "danger" : "", onclick: () => act(channel, verb, spec, reload)}, spec.title);
  return h("div", {class: "buttons"},
    may("operator") && item.state === "active" && [one("pause", PAUSE), one("maintain", MAINTAIN)],
    may("operator") && ["paused", "maintenance"].includes(item.state) && one("resume", RESUME),
    may("operator") && item.state === "stopped" && one("resume", RESTART),
    may("admin") && h("button", {onclick: () => limits(channel, item, reload)}, "Limits"));
}

async function showOne({main, signal, reload}, channel) {
  try {
    const {channel: item, calls} = await get(path("/api/channels/{channel}", {channel}), signal);
    main.append(facts([["Channel", channel], ["Profile", item.profile], ["Account", item.account], ["State", [state(item.state), " ", item.state_reason || ""]], ["Since", time(item.state_at)],
      ["Address", item.base_url], ["Rate", `${item.rate_per_s || "no limit"} a second, ${item.burst} at once after a rest, ${item.concurrency} under way at most`],
      ["Asks", item.polls], ["Calls waiting", number(item.calls_waiting)], ["Under way", number(item.calls_under_way)], ["Live money", item.livemode === undefined ? "" : item.livemode ? "yes" : "no"]]),
    buttons(channel, item, reload),
    h("p", {}, h("a", {href: "#/payments?channel=" + encodeURIComponent(channel)}, "its payments"), ", ", h("a", {href: "#/webhooks?channel=" + encodeURIComponent(channel)}, "its webhooks"), ", ",
      h("a", {href: "#/recon?channel=" + encodeURIComponent(channel)}, "its statements")));
    const last = rows("Last calls", calls);
    if (last) main.append(...last);
  } catch (failure) {
    if (failure.name !== "AbortError") say(failure.message, "bad");
  }
}
