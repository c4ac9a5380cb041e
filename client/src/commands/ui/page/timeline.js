// The spans of a run, one per line, on a common axis. Equal calls in a row are folded into one line.

import { h } from "./draw.js";
import { acting, error, foreign, redraw, searchField, toolLink } from "./parts.js";
import { groups, standing, ticks } from "./spans.js";
import { bytes, count, ms } from "./words.js";

const KINDS = { wait: "", server: "server", step: "step", approval: "approval", call: "" };
let chosen;
let words = "";
let failedOnly = false;
let of;
// The first spans of the groups that are unfolded.
const unfolded = new Set();
const MAX_BARS = 200;
const narrow = matchMedia("(max-width: 44rem)");

function choose(id) {
  chosen = chosen === id ? undefined : id;
  redraw();
}

const percent = (part, whole) => `${Math.min(100, Math.max(0, (100 * part) / whole)).toFixed(3)}%`;

function line(span, total, look = "") {
  const stands = standing(span);
  const to = span.to ?? total;
  const wide = Math.max(0, to - span.from);
  const id = span.id;
  return h(
    "div",
    { class: `row ${look}`, key: id, role: "listitem" },
    h(
      "button",
      { class: `span ${span.kind} ${stands}`, "aria-expanded": String(chosen === id), onclick: () => choose(id) },
      h("span", { class: "what" }, KINDS[span.kind] && h("small", {}, KINDS[span.kind]), foreign(span.name, 120)),
      h(
        "span",
        { class: "lane", "aria-hidden": "true" },
        h("i", { class: "bar", style: { left: percent(span.from, total), width: percent(wide, total) } }),
      ),
      h("span", { class: "took" }, stands === "skipped" ? "skipped" : ms(span.took ?? wide), stands === "lost" && "?"),
    ),
    chosen === id && details(span, stands, wide),
  );
}

function group(spans, total) {
  const [first] = spans;
  const isOpen = unfolded.has(first.id);
  const stands = standing(first);
  const ends = spans.map((span) => span.to ?? total);
  const to = Math.max(...ends);
  const toggle = () => {
    if (!unfolded.delete(first.id)) unfolded.add(first.id);
    redraw();
  };
  const bar = (from, end, key) => h("i", { class: "bar", key, style: { left: percent(from, total), width: percent(end - from, total) } });
  const bars = spans.length > MAX_BARS ? bar(first.from, to, first.id) : spans.map((span, at) => bar(span.from, ends[at], span.id));
  return [
    h(
      "div",
      { class: "row", key: `group ${first.id}`, role: "listitem" },
      h(
        "button",
        { class: `fold call ${stands}`, "aria-expanded": String(isOpen), title: isOpen ? "Hide the single calls" : `Show ${count(spans.length, "call")}`, onclick: toggle },
        h("span", { class: "what" }, h("span", { class: "turn", "aria-hidden": "true" }, isOpen ? "\u25be" : "\u25b8"), foreign(first.name, 120), ` \u00d7 ${spans.length}`),
        h("span", { class: "lane", "aria-hidden": "true" }, bars),
        h("span", { class: "took" }, ms(to - first.from)),
      ),
    ),
    isOpen && spans.map((span) => line(span, total, "folded")),
  ];
}

const STANDINGS = {
  open: "in progress",
  failed: "failed",
  lost: "still in progress when the run ended: it may or may not have happened",
  skipped: "skipped",
  denied: "denied",
  pending: "not answered in time",
};

function details(span, stands, wide) {
  const { progress } = span;
  const facts = [
    `started at ${ms(span.from)}`,
    stands !== "skipped" && `${stands === "open" ? "so far" : "took"} ${ms(span.took ?? wide)}`,
    span.bytes !== undefined && !span.error && `result of ${bytes(span.bytes)}`,
    STANDINGS[stands],
    span.approval && `approval ${span.approval}`,
    progress && `progress: ${progress.progress}${progress.total ? ` of ${progress.total}` : ""}`,
  ];
  return h(
    "div",
    { class: "details" },
    h("p", {}, (span.path ?? span.tool) && [toolLink(span.path ?? span.tool), " \u00b7 "], facts.filter(Boolean).join(" \u00b7 ")),
    span.description && h("p", {}, foreign(span.description, 500)),
    progress?.message && h("p", {}, foreign(progress.message, 500)),
    span.skipped && h("p", {}, foreign(span.skipped, 500)),
    span.error && error(span.error, span.id),
  );
}

function fits(span) {
  if (failedOnly && !["failed", "lost", "denied"].includes(standing(span))) return false;
  return span.name.toLowerCase().includes(words);
}

export function timeline(trace, until, run) {
  if (run !== of) {
    [of, chosen, words, failedOnly] = [run, undefined, "", false];
    unfolded.clear();
  }
  const ends = trace.spans.reduce((most, span) => Math.max(most, span.to ?? 0), 0);
  const total = Math.max(until, ends, 0.001);
  const shown = trace.spans.filter(fits);
  const many = trace.spans.length > 12;
  return h(
    "div",
    { class: "timeline", key: `timeline ${run}` },
    many &&
      h(
        "div",
        { class: "strip" },
        searchField("Filter by name", "Filter the timeline", (typed) => (words = typed.trim().toLowerCase())),
        h("label", {}, h("input", { type: "checkbox", onchange: acting(({ target }) => (failedOnly = target.checked)) }), " Failed only"),
        h("span", { class: "quiet" }, `${shown.length} of ${trace.spans.length}`),
      ),
    h(
      "div",
      { class: "axis", "aria-hidden": "true" },
      h("span", { class: "what" }),
      h("span", { class: "lane" }, ticks(total, narrow.matches ? 2 : 5).map((mark) => h("i", { class: "tick", key: mark, style: { left: percent(mark, total) } }, h("small", {}, ms(mark))))),
      h("span", { class: "took" }, ms(total)),
    ),
    h("div", { role: "list", class: "rows" }, groups(shown).map((spans) => (spans.length > 1 ? group(spans, total) : line(spans[0], total)))),
  );
}
