// SPDX-License-Identifier: Apache-2.0
// Logging in.
import {login} from "../api.js";
import {h, replace} from "../dom.js";
import {field} from "../form.js";

export function showLogin(main, done) {
  const flaw = h("p", {class: "flaw", role: "alert"});
  const button = h("button", {type: "submit", class: "primary"}, "Log in");
  const form = h("form", {class: "login", onsubmit: async (event) => {
    event.preventDefault();
    button.disabled = true;
    replace(flaw);
    try {
      await login(form.elements.name.value.trim(), form.elements.password.value);
      done();
    } catch (failure) {
      replace(flaw, failure.message + (failure.retryAfter > 0 ? ` Again in ${failure.retryAfter} s.` : ""));
      form.elements.password.value = "";
      form.elements.password.focus();
    }
    button.disabled = false;
  }}, h("h1", {}, "Postrider"),
    field({name: "name", label: "Name", required: true, autocomplete: "username", maxlength: 64}),
    field({name: "password", label: "Password", type: "password", required: true, autocomplete: "current-password", maxlength: 256}),
    flaw, button);
  document.title = "Log in - Postrider";
  replace(main, form);
  form.elements.name.focus();
}
