// SPDX-License-Identifier: Apache-2.0
// Logging in.
import {login} from "../api.js";
import {h, replace} from "../dom.js";
import {field} from "../form.js";

export function showLogin(main, done) {
  const flaw = h("p", {class: "flaw", role: "alert"});
  const code = h("div", {hidden: true}, field({name: "code", label: "Code of your second factor", autocomplete: "one-time-code", maxlength: 6}));
  const button = h("button", {type: "submit", class: "primary"}, "Log in");
  const form = h("form", {class: "login", onsubmit: async (event) => {
    event.preventDefault();
    button.disabled = true;
    replace(flaw);
    try {
      await login(form.elements.name.value.trim(), form.elements.password.value, form.elements.code.value.replaceAll(" ", ""));
      done();
    } catch (failure) {
      if (failure.code === "code_wanted") {
        code.hidden = false;
        form.elements.code.focus();
        replace(flaw, failure.message);
        button.disabled = false;
        return;
      }
      form.elements.code.value = "";
      replace(flaw, failure.message + (failure.retryAfter > 0 ? ` Again in ${failure.retryAfter} s.` : ""));
      form.elements.password.value = "";
      form.elements.password.focus();
    }
    button.disabled = false;
  }}, h("h1", {}, "Postrider"),
    field({name: "name", label: "Name", required: true, autocomplete: "username", maxlength: 64}),
    field({name: "password", label: "Password", type: "password", required: true, autocomplete: "current-password", maxlength: 256}),
    code, flaw, button);
  document.title = "Log in - Postrider";
  replace(main, form);
  form.elements.name.focus();
}
