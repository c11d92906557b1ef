// SPDX-License-Identifier: Apache-2.0
// Fields, and dialogs that ask: what is done, why, and whether it is meant.
import {h, replace} from "./dom.js";

let ids = 0;

// {name, label, type: text|password|number|select|textarea|checkbox|json, options: [[value, label]], value, required, hint}
export function field(spec) {
  const id = "field-" + ++ids;
  const common = {id, name: spec.name, required: spec.required, "aria-describedby": spec.hint ? id + "-hint" : null,
                  autocomplete: spec.autocomplete || "off", spellcheck: "false"};
  let input;
  if (spec.type === "select") {
    input = h("select", common, spec.options.map(([value, label]) =>
      h("option", {value, selected: String(value) === String(spec.value ?? "")}, label)));
  } else if (spec.type === "textarea" || spec.type === "json") {
    input = h("textarea", {...common, rows: spec.rows || 3, maxlength: spec.maxlength, value: spec.value ?? ""});
  } else if (spec.type === "checkbox") {
    input = h("input", {...common, type: "checkbox", checked: spec.value});
  } else {
    input = h("input", {...common, type: spec.type || "text", value: spec.value ?? "", maxlength: spec.maxlength, min: spec.min, max: spec.max});
  }
  return h("div", {class: "field" + (spec.type === "checkbox" ? " check" : "")}, h("label", {for: id}, spec.label), input,
    spec.hint && h("p", {class: "hint", id: id + "-hint"}, spec.hint));
}

// What a form's fields say, by name. A json field is parsed; what is no JSON is an error that says which.
export function values(form, specs) {
  const said = {};
  for (const spec of specs) {
    const input = form.elements[spec.name];
    if (spec.type === "checkbox") said[spec.name] = input.checked;
    else if (spec.type === "number") said[spec.name] = input.value === "" ? null : Number(input.value);
    else if (spec.type === "json") said[spec.name] = parse(spec, input.value);
    else said[spec.name] = input.value;
    if (said[spec.name] === "" || said[spec.name] === null) delete said[spec.name];
  }
  return said;
}

function parse(spec, text) {
  if (text.trim() === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(spec.label + " is no JSON.");
  }
}

// A reason, as every act wants one.
export const REASON = {name: "reason", label: "Reason", type: "textarea", required: true, maxlength: 500,
                       hint: "It is written into the audit log."};

// Opens a dialog with these fields. act(values) does it: what it throws is shown and the dialog stays. Gives what act gave, or
// null when it was cancelled; without a button there is only one that closes. danger: the button is red. about: children that say what it is about.
export function ask({title, about = [], fields = [], button = "Do it", danger = false, act}) {
  return new Promise((done) => {
    const flaw = h("p", {class: "flaw", role: "alert"});
    const submit = h("button", {type: "submit", class: danger ? "danger" : "primary", hidden: !button}, button);
    let result = null;
    const form = h("form", {method: "dialog", onsubmit: async (event) => {
      event.preventDefault();
      submit.disabled = true;
      replace(flaw);
      try {
        result = await act(values(form, fields));
        dialog.close();
      } catch (failure) {
        replace(flaw, failure.message);
      }
      submit.disabled = false;
    }}, h("h2", {id: "dialog-title"}, title), about, fields.map(field), flaw,
      h("div", {class: "buttons"}, submit, h("button", {type: "button", onclick: () => dialog.close()}, button ? "Cancel" : "Close")));
    const dialog = h("dialog", {"aria-labelledby": "dialog-title", onclose: () => { dialog.remove(); done(result); }}, form);
    document.body.append(dialog);
    dialog.showModal();
  });
}

// Something that is shown once: a secret, a token.
export function show(title, label, text) {
  return ask({title, about: [h("p", {}, label), h("pre", {class: "secret", tabindex: "0"}, text)], button: "I have kept it", act: async () => true});
}
