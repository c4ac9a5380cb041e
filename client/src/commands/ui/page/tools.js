// Tools: found by words, each with a form to call it, its TypeScript and its JSON schemas.

import { callForm } from "./call.js";
import { get, post } from "./http.js";
import { h } from "./draw.js";
import { known } from "./live.js";
import { table } from "./latency.js";
import { attempt, error, foreign, latencyOf, loading, long, nothing, redraw, searchField, serverLink } from "./parts.js";
import { count } from "./words.js";

const PATIENCE = 150;
const search = { query: "", server: undefined, hits: undefined, total: 0, next: undefined, unknown: [], failure: undefined };
let typing;
let asked = 0;
let connecting = false;
let shown;

async function look(more) {
  const mine = ++asked;
  try {
    const page = await get("search", { query: search.query, server: search.server, cursor: more && search.next });
    if (mine !== asked) return;
    const before = more ? (search.hits ?? []) : [];
    Object.assign(search, { hits: [...before, ...page.results], total: page.total, next: page.next, unknown: page.unknown ?? [], failure: undefined });
  } catch (failure) {
    if (mine !== asked) return;
    Object.assign(search, { failure, hits: search.hits ?? [] });
  }
  redraw();
}

async function connect() {
  connecting = true;
  redraw();
  try {
    await post("connect", {});
  } catch (failure) {
    search.failure = failure;
  }
  connecting = false;
  await look();
}

function describe(path) {
  const mine = { path };
  shown = mine;
  return attempt(
    async () => (mine.found = await get("tool", { path })),
    (failure) => (mine.failure = failure),
  );
}

export function leave() {
  shown = undefined;
  Object.assign(search, { query: "", hits: undefined, failure: undefined });
}

function hits(path) {
  return h(
    "ul",
    { class: "hits" },
    search.hits.map((hit) =>
      h(
        "li",
        { key: hit.path },
        h(
          "a",
          { href: `#/tools/${encodeURIComponent(hit.path)}`, "aria-current": hit.path === path ? "true" : undefined },
          h("b", { class: "path" }, foreign(hit.path, 100)),
          hit.description && h("span", {}, foreign(hit.description, 180)),
        ),
      ),
    ),
    search.next && h("li", { key: "more" }, h("button", { class: "small", onclick: () => look(true) }, `Show more (${search.hits.length} of ${search.total})`)),
  );
}

function schema(name, value, path) {
  return (
    value !== undefined &&
    value !== null &&
    h("details", { key: name }, h("summary", {}, `${name} (JSON Schema)`), long(JSON.stringify(value, null, 2), `${name} ${path}`))
  );
}

function description(path) {
  if (!shown.found) return shown.failure ? error(shown.failure, path) : loading();
  const { tool, declaration } = shown.found;
  const marks = [
    tool.read_only && "read-only",
    tool.destructive && h("span", { class: "bad" }, "destructive"),
    tool.changed && ["changed since you trusted it: ", h("code", {}, "mux servers pins"), " shows how"],
    tool.observed_calls && `result type learned from ${count(tool.observed_calls, "call")}`,
    tool.direct && "offered to agents directly, too",
  ];
  const latency = latencyOf(tool.path);
  return [
    h("h1", { class: "path" }, foreign(tool.path, 200)),
    h("p", { class: "quiet" }, "Server: ", serverLink(tool.server), marks.filter(Boolean).map((mark) => [" \u00b7 ", mark])),
    tool.title && h("p", {}, h("b", {}, foreign(tool.title, 200))),
    tool.description && long(tool.description, `description ${path}`, "prose"),
    callForm(tool),
    h("h2", {}, "TypeScript"),
    long(declaration, `types ${path}`, "code"),
    schema("Arguments", tool.input_schema, path),
    schema("Result", tool.output_schema, path),
    latency && [h("h2", {}, "Latency"), table([latency])],
  ];
}

export function tools(path, values) {
  const server = values.get("server") ?? undefined;
  if (!path && search.server !== server) Object.assign(search, { server, hits: undefined });
  if (search.hits === undefined && !search.failure) {
    search.hits = [];
    look();
  }
  if (path && shown?.path !== path) describe(path);
  if (!path) shown = undefined;
  const all = known.status?.servers ?? [];
  const choose = (event) => {
    const chosen = event.target.value;
    location.hash = chosen ? `#/tools?server=${encodeURIComponent(chosen)}` : "#/tools";
  };
  return h(
    "div",
    { class: path ? "two chosen" : "two" },
    h(
      "div",
      { class: "finder" },
      !path && h("h1", { class: "unseen" }, "Tools"),
      h(
        "div",
        { class: "strip" },
        searchField("Find a tool", "Find a tool", (words) => {
          search.query = words;
          clearTimeout(typing);
          typing = setTimeout(look, PATIENCE);
        }),
        h(
          "select",
          { "aria-label": "Server", onchange: choose },
          h("option", { value: "", selected: !search.server }, "all servers"),
          all.map((one) => h("option", { key: one.name, value: one.name, selected: one.name === search.server }, foreign(one.name, 40))),
        ),
      ),
      search.failure && error(search.failure, "search"),
      search.unknown.length > 0 &&
        h(
          "p",
          { class: "quiet" },
          `The tools of ${count(search.unknown.length, "server")} are not known yet. `,
          h("button", { class: "small", disabled: connecting, onclick: connect }, connecting ? "Connecting\u2026" : "Connect"),
        ),
      search.hits.length ? hits(path) : nothing(search.query ? "No tools match." : "There are no tools yet."),
    ),
    h("div", { class: "tool", key: `tool ${path}`, tabindex: -1 }, path ? [h("a", { href: "#/tools", class: "back" }, "All tools"), description(path)] : nothing("Select a tool to see its types and to call it.")),
  );
}
