// SPDX-License-Identifier: Apache-2.0
// The people of the console, and one's own account.
import {get, may, path, post, session} from "../api.js";
import {h, say} from "../dom.js";
import {ask, REASON, show as showOnce} from "../form.js";
import {state, time} from "../format.js";
import {facts, list} from "../table.js";

export const operators = {path: "operators", title: "Operators", menu: "Operators", role: "admin", show};
export const account = {path: "account", title: "My account", menu: "My account", show: showAccount};

const ROLES = {name: "role", label: "Role", type: "select", options: [["viewer", "viewer: sees"], ["operator", "operator: acts"], ["approver", "approver: also approves"], ["admin", "admin: also settings and people"]]};
const NEW_PASSWORD = {name: "password", label: "New password", type: "password", required: true, autocomplete: "new-password", hint: "12 characters or more."};

function act(title, fields, address, reload, danger) {
  return ask({title, fields, button: title, danger, act: (values) => post(address, values)}).then((done) => {
    if (!done) return;
    say("Done.");
    reload();
  });
}

function buttons(item, reload) {
  return h("div", {class: "buttons"},
    h("button", {onclick: () => act("Change the role", [{...ROLES, value: item.role}, REASON], path("/api/operators/{name}", item), reload)}, "Change the role"),
    h("button", {onclick: () => act("Set a password", [NEW_PASSWORD], path("/api/operators/{name}/password", item), reload)}, "Set a password"),
    item.disabled ? h("button", {onclick: () => act("Enable", [REASON], path("/api/operators/{name}/enable", item), reload)}, "Enable")
      : h("button", {class: "danger", onclick: () => act("Disable", [REASON], path("/api/operators/{name}/disable", item), reload, true)}, "Disable"));
}

function show({main, reload}) {
  main.append(h("div", {class: "buttons"}, h("button", {class: "primary", onclick: () =>
    act("Add an operator", [{name: "name", label: "Name", required: true, maxlength: 64}, ROLES, NEW_PASSWORD], "/api/operators", reload)}, "Add an operator")),
  list({
    path: "/api/operators", caption: "Operators",
    columns: [
      {title: "Name", cell: (item) => item.name}, {title: "Role", cell: (item) => item.role}, {title: "State", cell: (item) => state(item.disabled ? "disabled" : "active")},
      {title: "Second factor", cell: (item) => (item.second_factor ? "yes" : "no")},
      {title: "Last log-in", cell: (item) => time(item.last_login_at)}, {title: "Since", cell: (item) => time(item.created_at)},
      {title: "Do", cell: (item) => (may("admin") ? buttons(item, reload) : "")},
    ],
  }).element);
}

function makeToken(reload) {
  return ask({title: "Make a token for programs", fields: [{name: "label", label: "Label", required: true, maxlength: 64}, {...ROLES, hint: "At most your own."}], button: "Make",
    act: (values) => post("/api/tokens", {operator: session.operator, ...values})}).then(async (made) => {
    if (!made) return;
    await showOnce("The token", "It is shown this once: Authorization: Bearer ...", made.token);
    reload();
  });
}

async function showAccount({main, signal, reload}) {
  main.append(facts([["Name", session.operator], ["Role", session.role]]), h("div", {class: "buttons"},
    h("button", {onclick: () => act("Change my password", [NEW_PASSWORD], path("/api/operators/{name}/password", {name: session.operator}), reload)}, "Change my password"),
    h("button", {onclick: () => makeToken(reload)}, "Make a token")), h("h2", {}, "My tokens"));
  try {
    const mine = (await get("/api/tokens", signal)).items.filter((one) => one.operator === session.operator);
    main.append(mine.length === 0 ? h("p", {}, "None.") : h("ul", {class: "plain"}, mine.map((one) => h("li", {}, `${one.label} (${one.role}) `, state(one.revoked_at ? "revoked" : "active"),
      " used: ", time(one.used_at) || "never", !one.revoked_at && h("button", {class: "danger", onclick: () =>
        act("Revoke the token", [REASON], path("/api/tokens/{token_id}/revoke", one), reload, true)}, "Revoke")))));
  } catch (failure) {
    if (failure.name !== "AbortError") say(failure.message, "bad");
  }
}
