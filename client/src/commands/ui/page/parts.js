// Parts that several views have.

import { h } from "./draw.js";
import { known } from "./live.js";
import { bytes, clip, plain, programPath } from "./words.js";

const BEGINNING = 4000;
// A piece of a long text: the browser lays out those that are seen.
const PIECE = 4000;
const shownWhole = new Set();
const readable = new Map();
let again = () => {};

// What draws the page once more.
export function drawsWith(draw) {
  again = draw;
}

export function redraw() {
  again();
}

// A handler of an event that does something and draws the page once more.
export const acting = (act) => (event) => {
  act(event);
  again();
};

// Does something that may fail, hands over why it failed, and draws the page once more.
export async function attempt(action, failed) {
  try {
    await action();
  } catch (failure) {
    failed(failure);
  }
  again();
}

// A field to search in what the page shows.
export function searchField(placeholder, label, typed) {
  return h("input", { type: "search", placeholder, "aria-label": label, oninput: acting(({ target }) => typed(target.value)) });
}

// A name or a sentence of somebody else, on its own whatever its direction is.
export function foreign(text, most = 160) {
  const whole = plain(text ?? "");
  const short = clip(whole, most);
  return h("bdi", short === whole ? {} : { title: clip(whole, 1000) }, short);
}

// A sentence with commands between backticks.
export function prose(text, most = 2000) {
  const parts = clip(plain(text ?? ""), most).split("`");
  const isCode = (at) => at % 2 === 1 && at < parts.length - 1;
  return h("bdi", {}, parts.map((part, at) => (isCode(at) ? h("code", {}, part) : part)));
}

// Text of somebody else as a block; a long one is shown whole when somebody wants it.
export function long(text, key, className = "") {
  if (readable.get(key)?.text !== text) readable.set(key, { text, whole: plain(text ?? "") });
  const { whole } = readable.get(key);
  const short = whole.length > BEGINNING && !shownWhole.has(key);
  const shown = short ? clip(whole, BEGINNING) : pieces(whole).map((piece) => h("span", {}, piece));
  return [
    h("pre", { class: `text ${className}`, dir: "auto", tabindex: 0, key: `text ${key}` }, shown),
    short && h("button", { class: "small", key: `all ${key}`, onclick: acting(() => shownWhole.add(key)) }, `Show all ${bytes(whole.length)}`),
  ];
}

// Cut behind a line or a word, where there is one.
function pieces(whole) {
  const found = [];
  for (let from = 0; from < whole.length; ) {
    const part = whole.slice(from, from + PIECE);
    const last = from + PIECE >= whole.length ? part.length : Math.max(part.lastIndexOf("\n"), part.lastIndexOf(" ")) + 1;
    found.push(part.slice(0, last || undefined));
    from += last || part.length;
  }
  return found;
}

const LOOKS = {
  ready: "good",
  succeeded: "good",
  done: "good",
  approved: "good",
  ok: "good",
  running: "busy",
  starting: "busy",
  open: "busy",
  waiting: "wait",
  degraded: "warn",
  backing_off: "warn",
  pending: "warn",
  lost: "warn",
  warning: "warn",
  required: "warn",
  failed: "bad",
  failure: "bad",
  broken: "bad",
  denied: "bad",
};

// A state as a mark and a word.
export function state(name, words = name.replaceAll("_", " "), title) {
  return h("span", { class: `state ${LOOKS[name] ?? "idle"}`, title }, h("i", { "aria-hidden": "true" }), words);
}

export function error(problem, key) {
  return h(
    "div",
    { class: "problem", role: "alert", key: `problem ${key}` },
    h("p", {}, problem.kind && h("b", {}, `${plain(problem.kind)}: `), prose(problem.message, BEGINNING)),
    problem.hint && h("p", { class: "quiet" }, prose(problem.hint)),
    problem.line && h("p", { class: "quiet" }, `Line ${problem.line}${problem.column ? `, column ${problem.column}` : ""}`),
    problem.details !== undefined &&
      problem.details !== null &&
      h("details", {}, h("summary", {}, "Details"), long(JSON.stringify(problem.details, null, 2), `error ${key}`)),
  );
}

export function fact(name, ...value) {
  return h("div", { class: "fact" }, h("dt", {}, name), h("dd", {}, value));
}

export function nothing(...words) {
  return h("p", { class: "nothing" }, words);
}

export const loading = () => h("p", { class: "quiet" }, "Loading\u2026");

// A table: each column with its words and its class, and the rows.
export function grid(look, columns, rows) {
  const cells = columns.map(([words, cell = ""]) => h("th", { class: cell, scope: "col" }, words || h("span", { class: "unseen" }, "Actions")));
  return h("table", { class: look }, h("thead", {}, h("tr", {}, cells)), h("tbody", {}, rows));
}

// The latency of one path, if any call of it is known.
export function latencyOf(path) {
  return known.latencies.find((latency) => latency.path === path);
}

export function serverLink(name) {
  return h("a", { href: `#/servers/${encodeURIComponent(name)}` }, foreign(name, 60));
}

export function toolLink(path, most = 120) {
  const spelled = programPath(path);
  return h("a", { href: `#/tools/${encodeURIComponent(spelled)}`, class: "path" }, foreign(spelled, most));
}

export function runLink(run, words) {
  return h("a", { href: `#/runs/${encodeURIComponent(run)}` }, words ?? ["run ", foreign(run.split("-").at(-1), 60)]);
}

// How long a run takes or took.
export function took(run) {
  return run.state === "running" || run.state === "waiting" ? Math.max(0, Date.now() - run.accepted_ms) : run.ms;
}

const MEANINGS = {
  cold: "It starts with its first call.",
  degraded: "It answers, but has a problem.",
  backing_off: "It could not be started; muxd will try again.",
  failed: "The last start failed; the next call tries again.",
  broken: "Its configuration cannot be used.",
  disabled: "Its entry in config.toml is disabled.",
};

export function serverState(server) {
  const login = server.auth === "required" && server.state !== "disabled";
  return [state(server.state, undefined, MEANINGS[server.state]), login && [" ", state("required", "sign-in required")]];
}
