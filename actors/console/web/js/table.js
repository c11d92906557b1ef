// SPDX-License-Identifier: Apache-2.0
// A list of the API as a table: filters, pages by key ("more"), selection, CSV.
import {get, query} from "./api.js";
import {append, h, replace, say} from "./dom.js";
import {field} from "./form.js";

// {path: "/api/x", columns: [{title, cell: (item) => child}], filters: [field specs], values: {name: value}, caption,
//  row: (item) => link or null, select: true, bulk: (ids, items) => [buttons], idOf: (item) => id, csv: true,
//  keep: (values) => void (the page's address follows the filters), limit}
// Gives {element, reload}.
export function list(spec) {
  const filters = {...(spec.values || {})};
  const selected = new Map(); // id: item
  const body = h("tbody");
  const status = h("p", {class: "status", role: "status"});
  const more = h("button", {hidden: true, onclick: () => load(false)}, "More");
  const bulk = h("div", {class: "bulk"});
  const csv = spec.csv === false ? null : h("a", {class: "button", download: "postrider.csv"}, "CSV");
  let next = null, shown = 0, controller = new AbortController();

  function address(extra) {
    return spec.path + query({...filters, ...extra});
  }

  function row(item) {
    const cells = spec.columns.map((column) => h("td", {"data-label": column.title}, h("div", {}, column.cell(item))));
    if (spec.select) {
      const id = spec.idOf(item);
      cells.unshift(h("td", {}, h("input", {type: "checkbox", "aria-label": "Select " + id, checked: selected.has(id), onchange: (event) => {
        if (event.target.checked) selected.set(id, item); else selected.delete(id);
        showBulk();
      }})));
    }
    return h("tr", {}, cells);
  }

  function showBulk() {
    replace(bulk, selected.size > 0 && spec.bulk ? [h("span", {}, selected.size + " selected"), spec.bulk([...selected.keys()], [...selected.values()])] : null);
  }

  async function load(fresh) {
    if (fresh) {
      controller.abort();
      controller = new AbortController();
      next = null;
    }
    const signal = controller.signal;
    more.disabled = true;
    replace(status, "Loading");
    try {
      const page = await get(address({after: next, limit: spec.limit || 50}), signal);
      if (fresh) {
        replace(body);
        shown = 0;
        selected.clear();
        showBulk();
      }
      append(body, page.items.map(row));
      shown += page.items.length;
      next = page.next;
      more.hidden = !next;
      replace(status, shown === 0 && !next ? spec.empty || "There is nothing." : shown + (next ? " shown, there are more." : " shown."));
      if (csv) csv.setAttribute("href", address({format: "csv"}));
    } catch (failure) {
      if (failure.name === "AbortError") return;
      replace(status, failure.message);
      if (failure.status !== 401) say(failure.message, "bad");
    }
    more.disabled = false;
  }

  const form = spec.filters ? h("form", {class: "filters", role: "search", onsubmit: (event) => {
    event.preventDefault();
    for (const one of spec.filters) {
      const input = form.elements[one.name];
      filters[one.name] = one.type === "checkbox" ? (input.checked ? "true" : "") : input.value.trim();
    }
    if (spec.keep) spec.keep({...filters});
    load(true);
  }}, spec.filters.map((one) => field({...one, value: one.type === "checkbox" ? filters[one.name] === "true" : filters[one.name]})),
    h("button", {type: "submit", class: "primary"}, "Show"), csv) : null;

  const heads = spec.columns.map((column) => h("th", {scope: "col"}, column.title));
  if (spec.select) heads.unshift(h("th", {scope: "col"}, h("input", {type: "checkbox", "aria-label": "Select all that are shown", onchange: (event) => {
    for (const box of body.querySelectorAll("td:first-child > input[type=checkbox]")) if (box.checked !== event.target.checked) box.click();
  }})));
  const element = h("section", {class: "list"}, form, bulk,
    h("div", {class: "scroll"}, h("table", {}, h("caption", {class: "hidden"}, spec.caption || "List"), h("thead", {}, h("tr", {}, heads)), body)),
    h("div", {class: "foot"}, status, more, spec.filters ? null : csv));
  load(true);
  return {element, reload: () => load(true)};
}

// One thing's members as a definition list: [[label, child], ...]; empty ones are left out.
export function facts(pairs) {
  return h("dl", {class: "facts"}, pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined)
    .map(([label, value]) => [h("dt", {}, label), h("dd", {}, value)]));
}
