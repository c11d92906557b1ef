// SPDX-License-Identifier: Apache-2.0
// Times, ages, amounts, as people read them.
import {h} from "./dom.js";

// Digits behind the point by ISO 4217; 2 where it is not listed.
const EXPONENTS = {
  0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF", 3: "BHD IQD JOD KWD LYD OMR TND", 4: "CLF UYW",
};

function exponent(currency) {
  for (const [digits, list] of Object.entries(EXPONENTS)) if (list.split(" ").includes(currency)) return Number(digits);
  return 2;
}

// 123456, "CNY" -> "1,234.56 CNY"; BigInt, so no digit is lost.
export function money(minor, currency) {
  if (minor === null || minor === undefined) return "";
  const digits = exponent(currency);
  const text = String(minor).replace("-", "").padStart(digits + 1, "0");
  const whole = text.slice(0, text.length - digits).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return (String(minor).startsWith("-") ? "-" : "") + whole + (digits > 0 ? "." + text.slice(-digits) : "") + " " + (currency || "");
}

export function number(value) {
  return value === null || value === undefined ? "" : Number(value).toLocaleString("en-US");
}

// 93784 -> "1 d 2 h"
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  let left = Math.max(0, Math.round(seconds));
  const parts = [];
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]]) {
    const count = Math.floor(left / size);
    if (count > 0 && parts.length < 2) parts.push(count + " " + unit);
    left -= count * size;
  }
  return parts.length === 0 ? "0 s" : parts.join(" ");
}

// A time as an element: short to read, whole to hover and for machines.
export function time(text) {
  if (!text) return "";
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return String(text);
  const pad = (value) => String(value).padStart(2, "0");
  const short = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  return h("time", {datetime: text, title: text}, short);
}

export function age(text) {
  return text ? h("time", {datetime: text, title: text}, duration((Date.now() - new Date(text)) / 1000)) : "";
}

// A state as a coloured word; the word says it too.
const GOOD = ["active", "delivered", "succeeded", "SUCCESS", "executed", "closed", "explained", "repaired", "ok"];
const BAD = ["refused", "dead", "failed", "stopped", "disabled", "MANUAL", "FAILED", "open", "overdue", "rejected", "forced_open"];

export function state(word) {
  if (word === null || word === undefined || word === "") return "";
  const kind = GOOD.includes(word) ? "good" : BAD.includes(word) ? "bad" : "plain";
  return h("span", {class: "state " + kind}, word);
}

// JSON for people: indented, as text.
export function json(value) {
  return h("pre", {class: "json", tabindex: "0"}, typeof value === "string" ? pretty(value) : JSON.stringify(value, null, 2));
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
