// SPDX-License-Identifier: Apache-2.0
// Pictures of figures, as SVG with a text for those who do not see them.
import {s} from "./dom.js";

// The last values of something that changes: a line over its own maximum.
export function line(points, label, width = 240, height = 48) {
  const most = Math.max(1e-9, ...points);
  const x = (i) => (points.length < 2 ? 0 : (i * width) / (points.length - 1));
  const y = (value) => height - 3 - (value / most) * (height - 6);
  const path = points.map((value, i) => `${i === 0 ? "M" : "L"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join(" ");
  return s("svg", {viewBox: `0 0 ${width} ${height}`, class: "line", role: "img", "aria-label": `${label}: now ${points.at(-1) ?? 0}, at most ${most}`},
    points.length > 0 && s("path", {d: `${path} L${width} ${height} L0 ${height} Z`, class: "area"}),
    points.length > 0 && s("path", {d: path, class: "stroke"}));
}

// Amounts side by side: [[label, value, kind]]; kind "good", "bad" or "plain".
export function bars(rows, label) {
  const most = Math.max(1, ...rows.map(([, value]) => value));
  const text = rows.map(([name, value]) => `${name} ${value}`).join(", ");
  return s("svg", {viewBox: `0 0 300 ${rows.length * 22}`, class: "bars", role: "img", "aria-label": `${label}: ${text}`},
    rows.map(([name, value, kind], i) => [
      s("text", {x: 0, y: i * 22 + 15}, name),
      s("rect", {x: 110, y: i * 22 + 4, width: ((value / most) * 130).toFixed(1), height: 14, rx: 2, class: kind || "plain"}),
      s("text", {x: 246, y: i * 22 + 15}, String(value)),
    ]));
}
