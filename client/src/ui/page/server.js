// One server: its sessions, what is wrong with it, how long its tools take.

import { h } from "./draw.js";
import { known } from "./live.js";
import { table } from "./latency.js";
import { error, fact, foreign, long, nothing, state } from "./parts.js";
import { ms, span } from "./words.js";

function facts(server) {
  const told = [
    ["Tools", server.tools !== undefined && h("a", { href: `#/tools?server=${encodeURIComponent(server.name)}` }, String(server.tools))],
    ["Calls", `${server.calls.toLocaleString("en")}${server.in_flight ? `, ${server.in_flight} in flight` : ""}`],
    ["Sessions opened", String(server.starts)],
    ["Last start", ms(server.start_ms)],
    ["Calls itself", server.identity && foreign(server.identity, 80)],
    ["Protocol", server.protocol && foreign(server.protocol, 40)],
    ["Transport", server.transport],
    ["Process", server.pid],
    ["Shared by", server.share && [`one ${server.share}`, server.share_reason && h("small", {}, foreign(server.share_reason, 120))]],
    ["Sign-in", server.auth?.replace("_", " ")],
    ["Signed in as", server.who && foreign(server.who, 80)],
    ["Account", server.account],
    ["Sandbox", sandbox(server.sandbox)],
    ["Next try", server.retry_in_ms !== undefined && `in ${span(server.retry_in_ms)}`],
    ["Project", server.project && foreign(server.project, 120)],
  ];
  return h("dl", { class: "facts" }, told.filter(([, value]) => value).map(([name, value]) => fact(name, value)));
}

// What surrounds the server; absent for one that muxd does not start.
function sandbox(found) {
  if (!found) return undefined;
  if (found.state !== "on") return found.state === "off" ? "off" : "none: it has all of your rights";
  return [
    `${(found.layers ?? []).join(", ") || "on"}; network: ${found.network ?? "none"}`,
    (found.denied ?? []).map((denied) => h("small", { key: denied }, "denied: ", foreign(denied, 300))),
  ];
}

function advice(server) {
  const name = /^[A-Za-z][A-Za-z0-9_-]*$/.test(server.name) ? server.name : "NAME";
  if (server.auth === "required") return `mux servers login ${name}`;
  if (server.state === "disabled") return `mux servers enable ${name}`;
  if (!["failed", "backing_off", "degraded"].includes(server.state)) return undefined;
  return server.has_log ? `mux servers logs ${name}` : `mux servers restart ${name}`;
}

export function server(name) {
  const all = known.status?.servers;
  if (!all) return h("p", { class: "quiet" }, "Asking muxd\u2026");
  const found = all.find((one) => one.name === name);
  if (!found) return [h("h1", {}, foreign(name, 80)), nothing("There is no such server any more.")];
  const own = known.latencies.filter((latency) => latency.server === name);
  const next = advice(found);
  return [
    h("h1", {}, foreign(name, 80), " ", state(found.state)),
    found.reason && error({ message: found.reason }, `server ${name}`),
    (found.warnings ?? []).map((warning) => h("p", { class: "problem", key: warning }, foreign(warning, 600))),
    next && h("p", {}, "Next: ", h("code", {}, next)),
    facts(found),
    h("h2", {}, found.source ? "Source" : "Command"),
    long(found.command || found.source?.description || "", `command ${name}`),
    (found.sessions ?? []).length > 0 && [
      h("h2", {}, "Sessions"),
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ["Of", "State", "Process"].map((head) => h("th", {}, head)))),
        h(
          "tbody",
          {},
          found.sessions.map((session) =>
            h(
              "tr",
              { key: session.of },
              h("td", {}, foreign(session.of, 120)),
              h("td", {}, state(session.state), session.reason && h("div", { class: "why" }, foreign(session.reason, 140))),
              h("td", {}, session.pid ?? ""),
            ),
          ),
        ),
      ),
    ],
    h("h2", {}, "Latency"),
    own.length ? table(own) : nothing("None of the runs that are kept has called it."),
  ];
}
