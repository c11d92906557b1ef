// SPDX-License-Identifier: Apache-2.0
// Merchants, their endpoints, secrets and keys.
import {get, may, path, post} from "../api.js";
import {h, say} from "../dom.js";
import {ask, REASON, show as showOnce} from "../form.js";
import {state, time} from "../format.js";
import {facts, list} from "../table.js";

export const merchants = {path: "merchants", title: "Merchants", menu: "Merchants", show};

const TIERS = {name: "tier", label: "Tier", type: "select", options: [["normal", "normal"], ["vip", "vip"], ["small", "small"]]};
const URL_FIELD = {name: "url", label: "Address (https://...)", required: true, maxlength: 512};
const OVERLAP = {name: "overlap_s", label: "Both secrets are valid for (seconds)", type: "number", min: 0, value: 86400};

function show(page) {
  if (page.parts.length > 0) showOne(page, page.parts[0]);
  else showAll(page);
}

// A secret is shown once, when it is made.
function secret(made, whose) {
  return made && made.secret ? showOnce("The secret", `Of ${whose}. It is shown this once: the database keeps it sealed.`, made.secret) : null;
}

function add() {
  return ask({title: "Add a merchant", fields: [{name: "merchant_id", label: "Id", required: true, maxlength: 64}, URL_FIELD, TIERS, {name: "email", label: "Mail for alerts", maxlength: 254}], button: "Add",
    act: (values) => post("/api/merchants", values).then((made) => ({...made, merchant_id: values.merchant_id}))}).then(async (made) => {
    if (!made) return;
    await secret(made, made.merchant_id);
    location.hash = "#/merchants/" + encodeURIComponent(made.merchant_id);
  });
}

function showAll({main, query, keep}) {
  if (may("admin")) main.append(h("div", {class: "buttons"}, h("button", {class: "primary", onclick: add}, "Add a merchant")));
  main.append(list({
    path: "/api/merchants", caption: "Merchants", values: query, keep,
    filters: [{name: "q", label: "Id begins with"}],
    columns: [
      {title: "Merchant", cell: (item) => h("a", {href: "#/merchants/" + encodeURIComponent(item.merchant_id)}, item.merchant_id)},
      {title: "Tier", cell: (item) => item.tier}, {title: "Mail", cell: (item) => item.email || ""}, {title: "Since", cell: (item) => time(item.created_at)},
    ],
    empty: "There is no merchant yet.",
  }).element);
}

// One act on an endpoint or a merchant: asked, done, told.
function act(spec, address, reload, extra = {}) {
  return ask({title: spec.title, about: spec.about && h("p", {}, spec.about), fields: [...(spec.fields || []), REASON], button: spec.button || spec.title, danger: spec.danger,
    act: (values) => post(address, {...extra, ...values})}).then(async (done) => {
    if (!done) return;
    if (done.ok === false) say(done.says || "It was so already.", "bad");
    else say(spec.says || "Done. It acts within two seconds.");
    await secret(done, spec.whose);
    reload();
  });
}

function endpointButtons(one, merchant_id, reload) {
  const at = (verb) => path(`/api/endpoints/{endpoint_id}/${verb}`, one);
  const button = (spec, verb, extra) => h("button", {class: spec.danger ? "danger" : "", onclick: () => act(spec, at(verb), reload, extra)}, spec.title);
  return h("div", {class: "buttons"},
    may("operator") && (one.state === "active"
      ? button({title: "Disable", danger: true, about: "Its notifications are held, and die when they are too old."}, "disable")
      : button({title: "Enable", about: "What is held goes out, at a limited rate."}, "enable")),
    may("operator") && one.forced && button({title: "Let the breaker decide"}, "breaker", {forced: null}),
    may("operator") && !one.forced && button({title: "Force the breaker open", danger: true, about: "Nothing is sent to it until that is taken back."}, "breaker", {forced: "open"}),
    may("operator") && h("button", {onclick: () => act({title: "Send a test notification", says: "It is on its way."}, path("/api/merchants/{merchant_id}/test", {merchant_id}), reload,
      one.name ? {endpoint: one.name} : {})}, "Send a test notification"),
    may("admin") && button({title: "Rotate the secret", whose: one.url, fields: [OVERLAP], about: "Until the overlap ends both are signed with."}, "rotate-secret", {merchant_id}));
}

function keys(items, merchant_id, reload) {
  const make = () => ask({title: "Make a key for HTTP", fields: [{name: "label", label: "Label", required: true, maxlength: 64}, {name: "livemode", label: "for live money", type: "checkbox", value: true}], button: "Make",
    act: (values) => post("/api/keys", {kind: "merchant", merchant_id, ...values})}).then(async (made) => {
    if (!made) return;
    await showOnce("The key", "It is shown this once: the database keeps its hash.", made.token);
    reload();
  });
  return [h("h2", {}, "Keys for HTTP"), (items || []).length === 0 ? h("p", {}, "None.") : h("ul", {class: "plain"}, items.map((key) => h("li", {}, `${key.key_id} ${key.label || ""} `,
    state(key.revoked_at ? "revoked" : "active"), " ", time(key.created_at), may("admin") && !key.revoked_at && h("button", {class: "danger", onclick: () =>
      act({title: `Revoke key ${key.key_id}`, danger: true}, path("/api/keys/{key_id}/revoke", key), reload)}, "Revoke")))),
  may("admin") && h("div", {class: "buttons"}, h("button", {onclick: make}, "Make a key"))];
}

async function showOne({main, signal, reload}, merchant_id) {
  try {
    const {merchant, endpoints, keys: held} = await get(path("/api/merchants/{merchant_id}", {merchant_id}), signal);
    const addEndpoint = () => ask({title: "Add an endpoint", fields: [{name: "name", label: "Name", required: true, maxlength: 64}, URL_FIELD, REASON], button: "Add",
      act: (values) => post("/api/endpoints", {merchant_id, ...values})}).then(async (made) => {
      if (!made) return;
      await secret(made, "the new endpoint");
      reload();
    });
    main.append(facts([["Merchant", merchant_id], ["Tier", merchant.tier], ["Mail", merchant.email], ["Since", time(merchant.created_at)]]),
      h("p", {}, h("a", {href: "#/notifications?merchant_id=" + encodeURIComponent(merchant_id)}, "its notifications"), ", ",
        h("a", {href: "#/payments?merchant_id=" + encodeURIComponent(merchant_id)}, "its payments"), ", ", h("a", {href: "#/dead-letters?merchant_id=" + encodeURIComponent(merchant_id)}, "its dead letters")),
      may("admin") ? h("div", {class: "buttons"}, h("button", {onclick: addEndpoint}, "Add an endpoint")) : "", h("h2", {}, "Endpoints"));
    main.append(...endpoints.map((one) => h("section", {class: "card"}, facts([["Endpoint", one.name || one.endpoint_id], ["Address", one.url || one.host], ["State", [state(one.state), " ", one.state_reason || ""]],
      ["Breaker", one.forced ? state("forced_" + one.forced) : one.breaker_open_until && state("open")], ["Open until", time(one.breaker_open_until)], ["Old secret until", time(one.rotate_until)],
      ["Scheme", one.scheme], ["Success", one.success_rule]]), endpointButtons(one, merchant_id, reload))), ...keys(held, merchant_id, reload).flat().filter(Boolean));
  } catch (failure) {
    if (failure.name !== "AbortError") say(failure.message, "bad");
  }
}
