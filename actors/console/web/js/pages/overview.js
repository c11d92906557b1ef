// SPDX-License-Identifier: Apache-2.0
// How everything stands, live.
import {get, live} from "../api.js";
import {bars, line} from "../chart.js";
import {h, replace, say} from "../dom.js";
import {age, duration, number, state} from "../format.js";

const KEPT = 120; // points of a line: four minutes

export const overview = {path: "", title: "Overview", menu: "Overview", show};

function tile(title, value, bad, ...rest) {
  return h("section", {class: "tile"}, h("h2", {}, title), h("p", {class: "big" + (bad ? " bad" : "")}, value), rest);
}

function count(value, more) {
  return value === undefined || value === null ? "?" : number(value) + (more ? "+" : "");
}

function ms(value) {
  return value === null || value === undefined ? "none yet" : number(Math.round(value)) + " ms";
}

function remember(history, name, value) {
  const points = history[name] ??= [];
  points.push(Number(value) || 0);
  if (points.length > KEPT) points.shift();
  return points;
}

function tiles(o, history) {
  const n = o.notifications || {}, sample = n.sample || {}, p = o.payments || {}, e = o.endpoints || {};
  const calls = (name) => (o.channels || []).reduce((sum, channel) => sum + (channel[name] || 0), 0);
  return [
    tile("Delivered each second", number(sample.delivered_per_s ?? 0), false,
      line(remember(history, "delivered", sample.delivered_per_s), "Delivered each second"),
      h("p", {}, `${number(sample.enqueued_per_s ?? 0)} enqueued each second`)),
    tile("Waiting notifications", count(n.waiting, n.waiting_more), n.overdue > 0,
      line(remember(history, "waiting", n.waiting), "Waiting notifications"),
      h("p", {}, `${count(n.overdue)} overdue${n.overdue > 0 ? ", the oldest for " + duration(n.oldest_overdue_s) : ""}`)),
    tile("Delivery time", ms(sample.p50_ms), false, bars([["half", Math.round(sample.p50_ms || 0)], ["95 of 100", Math.round(sample.p95_ms || 0)],
      ["99 of 100", Math.round(sample.p99_ms || 0)]], "Milliseconds until delivered")),
    tile("Exceptions", h("a", {href: "#/exceptions"}, count(o.exceptions)), o.exceptions > 0, h("p", {}, h("a", {href: "#/approvals"}, `${o.approvals_open ?? 0} approvals open`))),
    tile("Dead letters", h("a", {href: "#/dead-letters"}, count(o.dead_open, o.dead_open_more)), o.dead_open > 0),
    tile("Open payments", count(p.open, p.open_more), p.manual > 0, h("p", {}, `${count(p.manual)} wait for a person`),
      h("p", {}, `${number(calls("calls_waiting"))} calls wait, ${number(calls("calls_overdue"))} overdue`)),
    tile("Endpoints", count(e.known), e.disabled + e.breaker_open > 0,
      bars([["known", e.known || 0], ["disabled", e.disabled || 0, "bad"], ["breaker open", e.breaker_open || 0, "bad"]], "Endpoints")),
    tile("Tasks", count(Object.values(o.tasks || {}).reduce((sum, value) => sum + value, 0)), (o.tasks || {}).MANUAL > 0,
      bars(Object.entries(o.tasks || {}).map(([name, value]) => [name.toLowerCase(), value, ["MANUAL", "FAILED"].includes(name) ? "bad" : "plain"]), "Tasks")),
  ];
}

function channels(list) {
  return h("div", {class: "scroll"}, h("table", {}, h("caption", {class: "hidden"}, "Channels"),
    h("thead", {}, h("tr", {}, ["Channel", "State", "Since", "Calls waiting", "Reason"].map((title) => h("th", {scope: "col"}, title)))),
    h("tbody", {}, list.map((c) => h("tr", {}, h("td", {"data-label": "Channel"}, h("a", {href: "#/channels/" + encodeURIComponent(c.channel)}, c.channel)),
      h("td", {"data-label": "State"}, state(c.state)), h("td", {"data-label": "Since"}, age(c.since)),
      h("td", {"data-label": "Calls waiting"}, number(c.calls_waiting)), h("td", {"data-label": "Reason"}, c.reason))))));
}

function alerts(list) {
  return list.length === 0 ? h("p", {}, "None.") : h("ul", {}, list.map((a) =>
    h("li", {}, state(a.severity), " ", a.message || a.kind, " ", age(a.first_at))));
}

async function show({main, signal}) {
  const figures = h("div", {class: "tiles"}), below = h("div", {}), stamp = h("p", {class: "status"}), history = {};
  main.append(figures, below, stamp);
  const draw = (o) => {
    replace(figures, tiles(o, history));
    replace(below, h("h2", {}, "Alerts"), alerts(o.alerts || []), h("h2", {}, "Channels"),
      (o.channels || []).length === 0 ? h("p", {}, "None.") : channels(o.channels));
    replace(stamp, "As of " + (o.at || ""));
  };
  try {
    draw(await get("/api/overview", signal));
  } catch (failure) {
    if (failure.name !== "AbortError") say(failure.message, "bad");
  }
  live(draw, signal);
}
