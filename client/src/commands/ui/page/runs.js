// Runs: those in progress, and the latest ones.

import { h } from "./draw.js";
import { known } from "./live.js";
import { acting, foreign, grid, nothing, prose, runLink, searchField, state, took } from "./parts.js";
import { ago, clip, clock, count, ms, plain } from "./words.js";

const STATES = ["all", "running", "succeeded", "failed"];
let wanted = "all";
let words = "";

export function rows(runs) {
  return grid("runs", [["Run", "main"], ["State"], ["Started by", "wide"], ["Calls", "number"], ["Duration", "number"], ["Started", "number wide"]], runs.map(row));
}

function row(run) {
  const calls = run.calls_failed ? [String(run.calls), h("small", { class: "bad" }, ` ${run.calls_failed} failed`)] : String(run.calls || "");
  return h(
    "tr",
    { key: run.run },
    h("td", { class: "main" }, runLink(run.run, foreign(run.title || run.run, 200)), run.error && h("div", { class: "why" }, prose(run.error.message, 200))),
    h("td", {}, ended(run)),
    h("td", { class: "wide" }, foreign(run.agent ?? run.client, 40)),
    h("td", { class: "number" }, calls),
    h("td", { class: "number" }, ms(took(run))),
    h("td", { class: "number wide", title: clock(run.accepted_ms) }, ago(run.accepted_ms, Date.now())),
  );
}

// The state of a run: with the kind of the error if it failed, or that it waits for an approval.
export function ended(run) {
  const kind = run.error?.kind;
  const look = kind === "pending" || kind === "cancelled" ? kind : waits(run) ? "waiting" : run.state;
  return state(look, stateWords(run));
}

function stateWords(run) {
  if (waits(run)) return "waiting for approval";
  return run.error ? `${run.state} (${clip(plain(run.error.kind), 20)})` : run.state;
}

function waits(run) {
  return run.approvals > 0 && (run.state === "running" || run.state === "waiting");
}

function fits(run) {
  const open = run.state === "running" || run.state === "waiting";
  if (wanted === "running" ? !open : wanted !== "all" && run.state !== wanted) return false;
  const text = [run.title, run.run, stateWords(run), run.client, run.agent, run.workspace, run.error?.message].join(" ").toLowerCase();
  return words.split(/\s+/).every((word) => text.includes(word));
}

export function runs() {
  const all = [...known.runs.values()].sort((a, b) => b.accepted_ms - a.accepted_ms || (a.run < b.run ? 1 : -1));
  const shown = all.filter(fits);
  return [
    h("h1", {}, "Runs"),
    h(
      "div",
      { class: "strip" },
      searchField("Filter by program, state, client or agent", "Filter runs", (typed) => (words = typed.trim().toLowerCase())),
      h(
        "div",
        { class: "choice", role: "group", "aria-label": "State" },
        STATES.map((name) => h("button", { key: name, "aria-pressed": String(wanted === name), onclick: acting(() => (wanted = name)) }, name)),
      ),
      h("span", { class: "quiet" }, shown.length === all.length ? count(all.length, "run") : `${shown.length} of ${count(all.length, "run")}`),
    ),
    shown.length ? rows(shown) : nothing(all.length ? "No runs match." : "No program has run yet."),
  ];
}
