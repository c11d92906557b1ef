// SPDX-License-Identifier: Apache-2.0
// By any number that people have: an order's, a payment's, a gateway's, a notification's, a task's, an event's.
import {get, query} from "../api.js";
import {h, replace, say} from "../dom.js";
import {field} from "../form.js";
import {linkTo} from "../links.js";

export const search = {path: "search", title: "Search", menu: "Search", show};

function found(items) {
  if (items.length === 0) return h("p", {}, "Nothing has this number. Numbers are compared whole.");
  return h("ul", {class: "plain"}, items.map((item) => h("li", {}, h("a", {href: linkTo(item)}, `${item.kind} ${item.id}`), " ", h("span", {class: "hint"}, item.says || ""))));
}

function show({main, query: asked, signal, keep}) {
  const result = h("div", {role: "status"});
  const look = async (q) => {
    if (q === "") return;
    replace(result, h("p", {}, "Looking"));
    try {
      const {items} = await get("/api/search" + query({q}), signal);
      replace(result, found(items));
      if (items.length === 1) location.hash = linkTo(items[0]);
    } catch (failure) {
      if (failure.name === "AbortError") return;
      replace(result);
      say(failure.message, "bad");
    }
  };
  const form = h("form", {class: "filters", role: "search", onsubmit: (event) => {
    event.preventDefault();
    const q = form.elements.q.value.trim();
    keep({q});
    look(q);
  }}, field({name: "q", label: "Number", value: asked.q, required: true, maxlength: 128,
             hint: "An order number, a payment's id, the gateway's number, a notification's id, a task's number, an event's id."}),
    h("button", {type: "submit", class: "primary"}, "Search"));
  main.append(form, result);
  look(asked.q || "");
}
