// The overview: calls that wait for the user, the servers, the latest runs, the daemon.

import { cards } from "./approvals.js";
import { h } from "./draw.js";
import { known } from "./live.js";
import { fact, loading, nothing, prose } from "./parts.js";
import { rows } from "./runs.js";
import { mostUrgentFirst, needsAttention, noServers, serverTable } from "./servers.js";
import { bytes, count, span } from "./words.js";

const LATEST = 8;

function workers({ ready, busy, starting, waiting }) {
  const marks = [
    ...Array(Math.min(busy, 40)).fill("busy"),
    ...Array(Math.min(ready, 40)).fill("good"),
    ...Array(Math.min(starting, 40)).fill("idle"),
  ];
  return [
    h("span", { class: "marks", "aria-hidden": "true" }, marks.map((look) => h("i", { class: look }))),
    `${busy} busy, ${ready} ready${starting ? `, ${starting} starting` : ""}${waiting ? `; ${waiting} queued` : ""}`,
  ];
}

function daemon(status) {
  const { runs } = status;
  return h(
    "dl",
    { class: "facts" },
    fact("Version", `muxd ${status.build}`, h("small", {}, `process ${status.pid}`)),
    fact("Uptime", span(status.uptime_ms)),
    fact("Memory", bytes(status.rss_bytes) || "unknown"),
    fact("Clients", String(status.clients)),
    fact("Workers", workers(status.workers)),
    fact("Runs", `${runs.running} running`, h("small", {}, `${runs.succeeded} succeeded, ${runs.failed} failed`)),
  );
}

// All servers with problems, and others up to the usual number of rows.
function shownServers(list) {
  const urgent = list.filter(needsAttention).length;
  return mostUrgentFirst(list).slice(0, Math.max(LATEST, urgent));
}

export function overview() {
  const { status } = known;
  if (!status) return loading();
  const runs = [...known.runs.values()].sort((a, b) => b.accepted_ms - a.accepted_ms);
  const list = shownServers(status.servers);
  const rest = status.servers.length - list.length;
  return [
    h("h1", { class: "unseen" }, "Overview"),
    cards(),
    status.problems.map((problem) => h("p", { class: "problem", role: "alert", key: problem.message }, prose(problem.message, 600))),
    h("h2", {}, h("a", { href: "#/servers" }, "Servers")),
    list.length ? serverTable(list) : noServers(),
    rest > 0 && h("p", {}, h("a", { href: "#/servers" }, `Show ${count(rest, "more server")}`)),
    h("h2", {}, h("a", { href: "#/runs" }, "Runs")),
    runs.length ? rows(runs.slice(0, LATEST)) : nothing("No program has run yet. ", h("code", {}, "mux run -e 'return 1'"), " runs one."),
    h("h2", {}, "Daemon"),
    daemon(status),
  ];
}
