// SPDX-License-Identifier: Apache-2.0
// Elements, made of text only: what comes from outside is never markup. The page's policy refuses innerHTML besides.

// h("a", {href: "#/x", class: "y", onclick: fn}, "text", child, [children], null)
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// The same in SVG.
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "href") element.setAttribute("href", safeLink(value));
    else if (name === "value" && "value" in element) element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

// Links lead into this application only.
function safeLink(link) {
  return /^(#|\/(?!\/))/.test(link) ? link : "#/";
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

let timer = 0;

// Says something to everybody, who looks and who listens. kind: "good", "bad".
export function say(text, kind = "good") {
  const place = document.getElementById("messages");
  replace(place, h("p", {class: "message " + kind}, text,
    h("button", {class: "quiet", "aria-label": "Dismiss", onclick: () => replace(place)}, "×")));
  clearTimeout(timer);
  if (kind === "good") timer = setTimeout(() => replace(place), 8000);
}
