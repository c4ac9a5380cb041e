// The servers, those with problems first, with what can be done about each.

import { h } from "./draw.js";
import { known } from "./live.js";
import { foreign, grid, loading, nothing, prose, serverLink, serverState } from "./parts.js";
import { buttons, outcome } from "./server_actions.js";
import { server } from "./server.js";
import { count } from "./words.js";

const URGENCY = ["broken", "failed", "backing_off", "required", "degraded", "warned", "starting", "ready", "cold", "disabled"];

function urgency(server) {
  const isUp = server.state === "ready" || server.state === "cold";
  if (isUp && server.auth === "required") return URGENCY.indexOf("required");
  if (isUp && server.warnings?.length) return URGENCY.indexOf("warned");
  return URGENCY.indexOf(server.state);
}

export function needsAttention(server) {
  return urgency(server) <= URGENCY.indexOf("warned");
}

export function mostUrgentFirst(list) {
  return [...list].sort((a, b) => urgency(a) - urgency(b) || (a.name < b.name ? -1 : 1));
}

function row(server, acts) {
  const why = server.reason ?? server.warnings?.[0]?.text;
  return h(
    "tr",
    { key: `${server.project ?? ""} ${server.name}`, class: needsAttention(server) ? "urgent" : "" },
    h(
      "td",
      { class: "name" },
      serverLink(server.name),
      (server.sessions?.length ?? 0) > 1 && h("small", {}, count(server.sessions.length, "session")),
      server.source && h("small", {}, "API"),
      server.project && h("small", {}, "from a project"),
    ),
    h("td", {}, serverState(server), why && h("div", { class: "why" }, prose(why, 200)), acts && outcome(server)),
    h("td", { class: "number" }, server.tools ?? ""),
    h("td", { class: "number wide" }, server.calls.toLocaleString("en")),
    acts ? h("td", { class: "wide acts" }, buttons(server, "small")) : h("td", { class: "number wide" }, server.in_flight || ""),
  );
}

export function serverTable(list, acts) {
  const last = acts ? ["", "wide"] : ["In flight", "number wide"];
  const columns = [["Server"], ["State"], ["Tools", "number"], ["Calls", "number wide"], last];
  return grid("servers", columns, mostUrgentFirst(list).map((one) => row(one, acts)));
}

export function noServers() {
  return nothing("No servers are configured. ", h("code", {}, "mux servers add"), " adds one, and ", h("code", {}, "mux import"), " copies those of your agents.");
}

export function servers(name) {
  const list = known.status?.servers;
  if (!list) return loading();
  if (name) {
    const found = list.find((one) => one.name === name);
    if (found) return server(found);
    return [h("a", { href: "#/servers", class: "crumb" }, "All servers"), h("h1", {}, foreign(name, 80)), nothing("There is no server with this name.")];
  }
  const urgent = list.filter(needsAttention).length;
  return [
    h("h1", {}, "Servers"),
    list.length > 0 && h("p", { class: "quiet" }, count(list.length, "server"), urgent > 0 && `, ${urgent} with a problem`),
    list.length ? serverTable(list, true) : noServers(),
  ];
}
