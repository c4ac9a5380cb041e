// The pool on one page: the daemon, its workers, its servers, what runs, what is wrong.

import { cards } from "./approvals.js";
import { h } from "./draw.js";
import { known } from "./live.js";
import { fact, foreign, nothing, serverLink, state } from "./parts.js";
import { rows } from "./runs.js";
import { bytes, count, ms, span } from "./words.js";

const LATEST = 8;

function workers({ ready, busy, starting, waiting }) {
  const marks = [
    ...Array(Math.min(busy, 40)).fill("busy"),
    ...Array(Math.min(ready, 40)).fill("good"),
    ...Array(Math.min(starting, 40)).fill("idle"),
  ];
  return [
    h("span", { class: "marks", "aria-hidden": "true" }, marks.map((look) => h("i", { class: look }))),
    `${busy} busy, ${ready} ready${starting ? `, ${starting} starting` : ""}${waiting ? `; ${waiting} in line` : ""}`,
  ];
}

function daemon(status) {
  const { runs } = status;
  return h(
    "dl",
    { class: "facts" },
    fact("Daemon", `muxd ${status.build}`, h("small", {}, `process ${status.pid}`)),
    fact("Up", span(status.uptime_ms)),
    fact("Memory", bytes(status.rss_bytes) || "unknown"),
    fact("Clients", String(status.clients)),
    fact("Workers", workers(status.workers)),
    fact("Runs", `${runs.running} running`, h("small", {}, `${runs.succeeded} succeeded, ${runs.failed} failed`)),
  );
}

// Of all calls of a server: how many, and the time that half of its tools' calls stay within.
export function together(server) {
  const own = known.latencies.filter((latency) => latency.server === server);
  const calls = own.reduce((sum, latency) => sum + latency.calls, 0);
  if (calls === 0) return undefined;
  const middle = own.reduce((sum, latency) => sum + latency.p50 * latency.calls, 0) / calls;
  return { calls, middle, slowest: Math.max(...own.map((latency) => latency.slowest)) };
}

export function servers(list) {
  const head = [["Server"], ["State"], ["Tools", "number"], ["Calls", "number"], ["In flight", "number wide"]];
  head.push(["Typical", "number wide"], ["Start", "number wide"]);
  return h(
    "table",
    { class: "servers" },
    h("thead", {}, h("tr", {}, head.map(([name, look]) => h("th", { class: look ?? "", scope: "col" }, name)))),
    h(
      "tbody",
      {},
      list.map((server) => {
        const latency = together(server.name);
        const why = server.reason ?? server.warnings?.[0];
        return h(
          "tr",
          { key: `${server.project ?? ""} ${server.name}` },
          h(
            "td",
            {},
            serverLink(server.name),
            (server.sessions?.length ?? 0) > 1 && h("small", {}, ` ${count(server.sessions.length, "session")}`),
            server.project && h("small", {}, " of a project"),
          ),
          h("td", {}, state(server.state), why && h("div", { class: "why" }, foreign(why, 140))),
          h("td", { class: "number" }, server.tools ?? ""),
          h("td", { class: "number" }, server.calls.toLocaleString("en")),
          h("td", { class: "number wide" }, server.in_flight || ""),
          h("td", { class: "number wide" }, latency ? ms(latency.middle) : ""),
          h("td", { class: "number wide" }, ms(server.start_ms)),
        );
      }),
    ),
  );
}

export function overview() {
  const { status } = known;
  if (!status) return h("p", { class: "quiet" }, "Asking muxd\u2026");
  const runs = [...known.runs.values()].sort((a, b) => b.accepted_ms - a.accepted_ms);
  return [
    h("h1", { class: "unseen" }, "Overview"),
    cards(),
    status.problems.map((problem) => h("p", { class: "problem", role: "alert", key: problem }, foreign(problem, 600))),
    daemon(status),
    h("h2", {}, "Servers"),
    status.servers.length
      ? servers(status.servers)
      : nothing("No server is configured. ", h("code", {}, "mux servers add"), " adds one, ", h("code", {}, "mux import"), " takes over those of your agents."),
    h("h2", {}, h("a", { href: "#/runs" }, "Runs")),
    runs.length
      ? rows(runs.slice(0, LATEST))
      : nothing("Nothing has run yet. ", h("code", {}, "mux run -e 'return 1'"), " runs a program."),
  ];
}
