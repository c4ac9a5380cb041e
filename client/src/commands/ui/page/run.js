// One run: its calls, its console, its result.

import { cards } from "./approvals.js";
import { post } from "./http.js";
import { h } from "./draw.js";
import { known, show } from "./live.js";
import { acting, attempt, error, fact, foreign, loading, long, nothing, prose, runLink, took } from "./parts.js";
import { ended } from "./runs.js";
import { storedResult } from "./stored.js";
import { timeline } from "./timeline.js";
import { clock, count, json, ms } from "./words.js";

const LINES = 300;
let failure;
let all = false;

export function leave() {
  show(undefined);
  failure = undefined;
  all = false;
}

const cancel = (run) => attempt(() => post("cancel", { id: run }), (problem) => (failure = problem));

function facts(run) {
  return h(
    "dl",
    { class: "facts" },
    fact("Duration", ms(took(run))),
    fact("Calls", String(run.calls), run.calls_failed > 0 && h("small", { class: "bad" }, `${run.calls_failed} failed`)),
    fact("Started", clock(run.accepted_ms)),
    fact("Client", foreign(run.client, 60), run.detached && h("small", {}, "detached")),
    run.agent && fact("Agent", foreign(run.agent, 60)),
    run.workspace && fact("Workspace", foreign(run.workspace, 140)),
  );
}

function result({ outcome, parts, recording }, id) {
  const told = [];
  if (outcome?.error) told.push(error(outcome.error, id));
  if (outcome?.result !== undefined) told.push(h("h2", {}, "Result"), long(json(outcome.result), `result ${id}`));
  if (outcome?.stored) told.push(h("h2", {}, "Result"), storedResult(outcome.stored, `run ${id}`));
  if (parts > 0) told.push(h("p", { class: "quiet" }, `The program also emitted ${count(parts, "part")}.`));
  if (recording) told.push(h("p", { class: "quiet" }, "This run was recorded."));
  return told;
}

function lines({ lines: said }, id) {
  if (said.length === 0) return undefined;
  const shown = all ? said : said.slice(-LINES);
  return [
    h("h2", {}, "Console"),
    shown.length < said.length && h("button", { class: "small", onclick: acting(() => (all = true)) }, `Show ${count(said.length - shown.length, "earlier line")}`),
    h(
      "div",
      { class: "console", tabindex: 0, key: `console ${id}`, role: "log", "aria-label": "Console" },
      shown.map((line) =>
        h("div", { class: `line ${line.level}` }, h("span", { class: "at" }, ms(line.at)), h("span", { dir: "auto" }, foreign(line.text, 4000))),
      ),
    ),
  ];
}

export function run(wanted) {
  show(wanted);
  const { trace, missing } = known;
  const info = known.runs.get(wanted) ?? [...known.runs.values()].find((one) => one.run.endsWith(`-${wanted}`));
  if (!info && missing) return [h("h1", {}, foreign(wanted, 80)), error(missing, wanted)];
  if (!info) return loading();
  const open = info.state === "running" || info.state === "waiting";
  return [
    h("a", { href: "#/runs", class: "crumb" }, "All runs"),
    h("h1", { class: "title" }, foreign(info.title || info.run, 300)),
    h(
      "div",
      { class: "strip" },
      ended(info),
      h("code", {}, info.run),
      trace.resumed && h("span", { class: "quiet" }, "continues ", runLink(trace.resumed.run), `; ${count(trace.resumed.calls, "call")} not repeated`),
      open && h("button", { class: "small bad", onclick: () => cancel(info.run) }, "Cancel run"),
    ),
    failure && error(failure, "cancel"),
    missing && error(missing, wanted),
    facts(info),
    cards((approval) => approval.run === info.run),
    trace.warnings.map((warning, at) => h("p", { class: "problem", key: `warning ${at}` }, warning.line && `Line ${warning.line}: `, prose(warning.message, 600))),
    trace.unchecked && h("p", { class: "quiet" }, "Its types were not checked: ", prose(trace.unchecked, 300)),
    h("h2", {}, "Timeline"),
    trace.spans.length ? timeline(trace, open ? took(info) : trace.at, info.run) : nothing(open ? "Nothing has happened yet." : "This run made no calls."),
    lines(trace, info.run),
    result(trace, info.run),
  ];
}
