// One server: its state, what can be done about it, its sandbox, its log, and how long its tools take.

import { h } from "./draw.js";
import { get } from "./http.js";
import { known } from "./live.js";
import { table } from "./latency.js";
import { attempt, error, fact, foreign, grid, long, nothing, prose, serverState, state } from "./parts.js";
import { buttons, outcome } from "./server_actions.js";
import { bytes, ms, span } from "./words.js";

const LOG_INTERVAL = 2000;
// The server that is shown, with what was loaded about it.
let shown = {};

export function leave() {
  shown = {};
}

function begin(server) {
  if (shown.name === server.name) return;
  shown = { name: server.name };
  if (server.sandbox) loadSandbox(shown);
  followLog(shown);
}

const loadSandbox = (mine) =>
  attempt(
    async () => (mine.profile = await get("sandbox", { server: mine.name })),
    (failure) => (mine.sandboxFailure = failure),
  );

const loadLog = (mine) =>
  attempt(
    async () => Object.assign(mine, { lines: (await get("logs", { server: mine.name })).lines, logFailure: undefined }),
    (failure) => (mine.logFailure = failure),
  );

async function followLog(mine) {
  while (shown === mine) {
    const hasLog = known.status?.servers.find((one) => one.name === mine.name)?.has_log;
    if (!hasLog) mine.lines = [];
    else if (!document.hidden) await loadLog(mine);
    await new Promise((wake) => setTimeout(wake, LOG_INTERVAL));
  }
}

function facts(server) {
  const told = [
    ["Tools", server.tools !== undefined && h("a", { href: `#/tools?server=${encodeURIComponent(server.name)}` }, String(server.tools))],
    ["Calls", `${server.calls.toLocaleString("en")}${server.in_flight ? `, ${server.in_flight} in flight` : ""}`],
    ["Sessions opened", String(server.starts)],
    ["Last start took", ms(server.start_ms)],
    ["Reported name", server.identity && foreign(server.identity, 80)],
    ["Protocol", server.protocol && foreign(server.protocol, 40)],
    ["Transport", server.transport],
    ["Process", server.pid],
    ["One session per", server.share && [server.share, server.share_reason && h("small", {}, foreign(server.share_reason, 120))]],
    ["Sign-in", server.auth?.replace("_", " ")],
    ["Signed in as", server.who && foreign(server.who, 80)],
    ["Account", server.account],
    ["Next attempt", server.retry_in_ms !== undefined && `in ${span(server.retry_in_ms)}`],
    ["Project", server.project && foreign(server.project, 120)],
  ];
  return h("dl", { class: "facts" }, told.filter(([, value]) => value).map(([name, value]) => fact(name, value)));
}

const paths = (list) => list.map((path) => h("div", { key: path }, h("code", {}, foreign(path, 300))));

// The sandbox around the server; there is none for a server that muxd does not start.
function sandbox(server) {
  const found = server.sandbox;
  if (!found) return undefined;
  const { profile } = shown;
  const isOn = found.state === "on";
  const rows = [
    [isOn ? "Enforced by" : "This machine can enforce", (found.layers?.length ? found.layers : profile?.enforceable ?? []).join(", ")],
    ["Problem", profile?.problem && foreign(profile.problem, 500)],
    ["May read", isOn && found.read?.length > 0 && paths(found.read)],
    ["May write", isOn && found.write?.length > 0 && paths(found.write)],
    ["Network", isOn && `network: ${found.network ?? "none"}`],
    ["Memory", isOn && profile && (profile.memory === undefined ? "no limit" : bytes(profile.memory))],
    ["Processes and threads", isOn && profile && (profile.processes ?? "no limit")],
    ["Its program", isOn && profile?.program?.length > 0 && paths(profile.program)],
    ["Its own directories", isOn && profile?.private?.length > 0 && paths(profile.private)],
    ["Home", isOn && profile?.empty_home && "an empty directory, deleted when the server ends"],
  ];
  const without = { off: "The configuration turns the sandbox off: this server has all of your rights.", bare: "This server has no sandbox: it has all of your rights." };
  return [
    h("h2", {}, "Sandbox"),
    !isOn && h("p", {}, without[found.state] ?? without.bare, " ", h("code", {}, `mux servers sandbox ${shellName(server)} --suggest`), " suggests one."),
    h("dl", { class: "facts wide-facts" }, rows.filter(([, value]) => value).map(([name, value]) => fact(name, value))),
    (found.denied ?? []).length > 0 && h("p", {}, h("b", {}, "Denied recently")),
    (found.denied ?? []).map((denied) => h("p", { class: "problem", key: denied }, "denied: ", foreign(denied, 300))),
    shown.sandboxFailure && error(shown.sandboxFailure, "sandbox"),
  ];
}

const shellName = (server) => (/^[A-Za-z][A-Za-z0-9_-]*$/.test(server.name) ? server.name : "NAME");

function log() {
  const { lines, logFailure } = shown;
  return [
    h("h2", {}, "Log"),
    logFailure && error(logFailure, "log"),
    lines === undefined && !logFailure && h("p", { class: "quiet" }, "Loading\u2026"),
    lines?.length === 0 && nothing("This server has not logged anything yet."),
    lines?.length > 0 &&
      h(
        "div",
        { class: "console", tabindex: 0, key: "log", role: "log", "aria-label": "Log" },
        lines.map((line) =>
          h(
            "div",
            { class: `line ${line.level ?? ""}` },
            h("span", { class: "at", title: line.time }, line.time ? new Date(line.time).toLocaleTimeString() : ""),
            h("span", { dir: "auto" }, foreign(line.text, 4000)),
          ),
        ),
      ),
  ];
}

function advice(server) {
  if (server.state === "broken") return ["", h("a", { href: "#/doctor" }, "Doctor"), " shows how to fix its entry."];
  if (server.state === "failed" || server.state === "backing_off") return ["The log below may say more; ", h("a", { href: "#/doctor" }, "Doctor"), " checks its program and its variables."];
  return undefined;
}

export function server(server) {
  begin(server);
  const { name } = server;
  const own = known.latencies.filter((latency) => latency.server === name);
  const sessions = server.sessions ?? [];
  const next = advice(server);
  return [
    h("a", { href: "#/servers", class: "crumb" }, "All servers"),
    h("h1", {}, foreign(name, 80), " ", serverState(server)),
    h("div", { class: "buttons" }, buttons(server)),
    outcome(server),
    server.reason && error({ message: server.reason, hint: server.detail }, `server ${name}`),
    next && h("p", {}, next),
    (server.warnings ?? []).map((warning) => h("p", { class: "problem", key: warning.text }, prose(warning.text, 600))),
    facts(server),
    h("h2", {}, server.source ? "Source" : /^https?:/.test(server.command) ? "Address" : "Command"),
    long(server.command || server.source?.description || "", `command ${name}`),
    sessions.length > 0 && [
      h("h2", {}, "Sessions"),
      grid(
        undefined,
        [["Belongs to"], ["State"], ["Process"]],
        sessions.map((session) =>
          h(
            "tr",
            { key: session.of },
            h("td", {}, foreign(session.of, 120)),
            h("td", {}, state(session.state), session.reason && h("div", { class: "why" }, prose(session.reason, 200))),
            h("td", {}, session.pid ?? ""),
          ),
        ),
      ),
    ],
    log(),
    sandbox(server),
    h("h2", {}, "Latency"),
    own.length ? table(own) : nothing("No tool of this server was called since muxd started."),
  ];
}
