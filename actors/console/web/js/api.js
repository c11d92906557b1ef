// SPDX-License-Identifier: Apache-2.0
// The operations API (docs/openapi.yaml), as this session.

export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || "The server cannot be reached.");
    this.status = status;
    this.code = problem.code || "";
    this.retryAfter = problem.retryAfter || 0;
  }
}

export const session = {operator: "", role: "", csrf: "", idle_s: 1800};

const RANKS = ["", "viewer", "operator", "approver", "admin"];

// Whether this session's role is enough. What it shows is a kindness: the server asks for itself.
export function may(role) {
  return RANKS.indexOf(session.role) >= RANKS.indexOf(role);
}

let loggedOut = () => {};

// fn: called when the server no longer knows the session.
export function onLoggedOut(fn) {
  loggedOut = fn;
}

// "/api/x/{id}/y", {id: "a/b"} -> "/api/x/a%2Fb/y"
export function path(pattern, values) {
  return pattern.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name]));
}

export function query(values) {
  const said = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false);
  return said.length === 0 ? "" : "?" + new URLSearchParams(said.map(([name, value]) => [name, String(value)]));
}

async function call(method, address, options = {}) {
  let answer;
  try {
    answer = await fetch(address, {method, credentials: "same-origin", cache: "no-store", redirect: "error", ...options});
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    throw new ApiError(0, {});
  }
  const text = await answer.text();
  let body = {};
  try {
    body = text === "" ? {} : JSON.parse(text);
  } catch {
    body = {title: "The server's answer is no JSON."};
  }
  if (answer.ok) return body;
  if (answer.status === 401 && !["wrong_login", "code_wanted"].includes(body.code)) loggedOut();
  throw new ApiError(answer.status, {...body, retryAfter: Number(answer.headers.get("Retry-After") || 0)});
}

export function get(address, signal) {
  return call("GET", address, {signal});
}

export function post(address, body = {}) {
  return call("POST", address, {
    headers: {"Content-Type": "application/json", "X-CSRF-Token": session.csrf}, body: JSON.stringify(body),
  });
}

function take(body) {
  Object.assign(session, body);
  return session;
}

export async function login(name, password, code) {
  return take(await post("/api/login", code ? {name, password, code} : {name, password}));
}

export async function logout() {
  await post("/api/logout");
  Object.assign(session, {operator: "", role: "", csrf: ""});
}

export async function resume() {
  return take(await get("/api/session"));
}

// ---- live figures ----

let touched = Date.now();
for (const kind of ["pointerdown", "keydown", "scroll"]) addEventListener(kind, () => { touched = Date.now(); }, {passive: true, capture: true});

// Calls fn with each new overview until the signal is aborted. Asks no more while nobody has touched the page for as long as a
// session may idle: watching alone must not keep one alive.
export async function live(fn, signal) {
  let seq = 0;
  while (!signal.aborted) {
    try {
      if (document.hidden || Date.now() - touched > session.idle_s * 1000) {
        await pause(2000, signal);
        continue;
      }
      const news = await get("/api/live?after=" + seq, signal);
      if (news.overview && news.seq !== seq) fn(news.overview);
      seq = news.seq;
    } catch (failure) {
      if (signal.aborted || failure.status === 401) return;
      await pause(3000, signal);
    }
  }
}

function pause(ms, signal) {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, {once: true});
  });
}
