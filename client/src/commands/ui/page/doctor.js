// The checks of `mux doctor`, the most severe first, each with its fix.

import { h } from "./draw.js";
import { get } from "./http.js";
import { error, loading, nothing, prose, redraw, state } from "./parts.js";
import { clock, count } from "./words.js";

const SEVERITY = ["failure", "warning", "note", "ok"];
let found;
let failure;
let busy = false;
let at;

async function check() {
  busy = true;
  redraw();
  try {
    found = (await get("doctor")).checks;
    failure = undefined;
    at = Date.now();
  } catch (problem) {
    failure = problem;
  }
  busy = false;
  redraw();
}

export function leave() {
  found = undefined;
  failure = undefined;
}

function finding({ group, verdict, message, fix, detail }, at) {
  return h(
    "li",
    { key: `${verdict} ${at}`, class: "finding" },
    h("div", { class: "strip" }, state(verdict), h("small", {}, group)),
    h("p", {}, prose(message, 4000)),
    fix && h("p", { class: "fix" }, h("b", {}, "Fix: "), prose(fix)),
    detail && h("details", {}, h("summary", {}, "Details"), h("p", {}, prose(detail, 4000))),
  );
}

export function doctor() {
  if (!found && !failure && !busy) check();
  const of = (verdict) => (found ?? []).filter((one) => one.verdict === verdict);
  const passed = of("ok");
  const open = SEVERITY.filter((verdict) => verdict !== "ok").flatMap(of);
  return [
    h("h1", {}, "Doctor"),
    h(
      "div",
      { class: "strip" },
      h("button", { disabled: busy, onclick: check }, busy ? "Checking\u2026" : "Check again"),
      found && h("span", { class: "quiet", role: "status" }, `${count(of("failure").length, "failure")}, ${count(of("warning").length, "warning")}, ${count(of("note").length, "note")} at ${clock(at)}`),
    ),
    failure && error(failure, "doctor"),
    !found && !failure && loading(),
    found && open.length === 0 && nothing("Every check passed."),
    open.length > 0 && h("ul", { class: "findings" }, open.map(finding)),
    passed.length > 0 &&
      h("details", { key: "passed" }, h("summary", {}, `${count(passed.length, "check")} passed`), h("ul", { class: "findings" }, passed.map(finding))),
  ];
}
