// The configured servers and how they are, as a list shows them.

import type { ServerInfo } from "@muxd/client";

export interface ServerView {
  name: string;
  description: string;
  details: string;
  /** The name of one of the editor's own icons. */
  icon: string;
  /** It can be restarted; what is switched off or cannot be used cannot. */
  restarts: boolean;
}

const ICONS: Partial<Record<ServerInfo["state"], string>> = {
  cold: "circle-outline",
  starting: "loading~spin",
  ready: "pass",
  degraded: "warning",
  backing_off: "watch",
  failed: "error",
  broken: "error",
  disabled: "circle-slash",
};

export function serverViews(servers: ServerInfo[]): ServerView[] {
  return servers.map((server) => ({
    name: server.name,
    description: description(server),
    details: details(server),
    icon: server.auth === "required" ? "key" : (ICONS[server.state] ?? "question"),
    restarts: server.state !== "broken" && server.state !== "disabled",
  }));
}

function description(server: ServerInfo): string {
  const parts: string[] = [server.auth === "required" ? "sign-in required" : server.state.replaceAll("_", " ")];
  if (server.tools !== undefined) parts.push(`${server.tools} tools`);
  if (server.in_flight > 0) parts.push(`${server.in_flight} calls in flight`);
  if ((server.warnings ?? []).length > 0) parts.push("has warnings");
  return parts.join(", ");
}

function details(server: ServerInfo): string {
  const lines = [server.command];
  if (server.identity !== undefined) lines.push(server.identity);
  if (server.reason !== undefined) lines.push(server.reason);
  if (server.auth === "required") lines.push(`mux servers login ${server.name}`);
  if (server.start_ms !== undefined) lines.push(`started in ${server.start_ms} ms`);
  lines.push(`${server.calls} calls, ${server.starts} starts`);
  for (const session of server.sessions ?? []) lines.push(`session for ${session.of}: ${session.state}`);
  return [...lines, ...(server.warnings ?? []).map((warning) => warning.text)].join("\n");
}
