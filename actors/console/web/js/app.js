// SPDX-License-Identifier: Apache-2.0
// The frame: who is logged in, the pages, and which one the address names.
import {logout, may, onLoggedOut, resume, session} from "./api.js";
import {h, replace, say} from "./dom.js";
import {PAGES} from "./pages.js";
import {showLogin} from "./pages/login.js";

let leave = null; // ends what the page shown keeps running

// "#/orders/m1/a%2Fb?x=1" -> {parts: ["orders", "m1", "a/b"], query: {x: "1"}}
function where() {
  const [path, rest] = location.hash.replace(/^#\/?/, "").split("?");
  return {parts: path.split("/").filter((part) => part !== "").map(decode), query: Object.fromEntries(new URLSearchParams(rest || ""))};
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function menu(current) {
  const links = PAGES.filter((page) => page.menu && may(page.role || "viewer")).map((page) =>
    h("a", {href: "#/" + page.path, "aria-current": page.path === current ? "page" : null}, page.menu));
  const search = h("form", {role: "search", class: "search", onsubmit: (event) => {
    event.preventDefault();
    const text = search.elements.q.value.trim();
    if (text !== "") location.hash = "#/search?q=" + encodeURIComponent(text);
  }}, h("label", {class: "hidden", for: "search"}, "Search"),
    h("input", {id: "search", name: "q", type: "search", placeholder: "Order, payment, notification", autocomplete: "off", maxlength: 128}));
  replace(document.getElementById("top"), h("div", {class: "bar"}, h("a", {href: "#/", class: "brand"}, "Postrider"), search,
    h("details", {class: "who"}, h("summary", {}, `${session.operator} (${session.role})`),
      h("a", {href: "#/account"}, "Account"),
      h("button", {class: "quiet", onclick: end}, "Log out"))),
    h("nav", {"aria-label": "Pages"}, links));
}

async function end() {
  try {
    await logout();
  } catch (failure) {
    say(failure.message, "bad");
  }
  askWho();
}

function clear() {
  if (leave) leave();
  leave = null;
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
}

function askWho() {
  clear();
  session.operator = "";
  replace(document.getElementById("top"));
  showLogin(document.getElementById("main"), show);
}

function show() {
  if (session.operator === "") return;
  clear();
  const {parts, query} = where();
  const page = PAGES.find((one) => one.path === (parts[0] || "")) || PAGES.find((one) => one.path === "");
  const main = document.getElementById("main");
  const controller = new AbortController();
  leave = () => controller.abort();
  menu(page.path);
  document.title = page.title + " - Postrider";
  replace(main, h("h1", {}, page.title));
  page.show({main, parts: parts.slice(1), query, signal: controller.signal, reload: show, keep: (values) => keep(page.path, parts, values)});
  main.focus({preventScroll: true});
  scrollTo(0, 0);
}

// The filters stand in the address, so that it can be sent to somebody, and going back finds them.
function keep(path, parts, values) {
  const said = new URLSearchParams(Object.entries(values).filter(([, value]) => value));
  const way = [path, ...parts.slice(1).map(encodeURIComponent)].join("/");
  history.replaceState(null, "", "#/" + way + (said.size > 0 ? "?" + said : ""));
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
addEventListener("hashchange", show);
onLoggedOut(askWho);
resume().then(show, (failure) => {
  if (failure.status !== 401) say(failure.message, "bad");
  askWho();
});
