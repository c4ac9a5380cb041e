// ---- typeof_process
const token = typeof process !== "undefined" ? process.env.TOKEN : undefined;
return token ?? "none";
// ---- typeof_process_and
const debug = typeof process !== "undefined" && process.env.DEBUG === "1";
return debug;
// ---- typeof_in_an_if
let cwd = "/";
if (typeof process !== "undefined") {
  cwd = process.cwd();
}
return cwd;
// ---- typeof_kept_in_a_constant
const isNode = typeof process === "object";
if (isNode) console.log(process.version);
return isNode;
// ---- typeof_fetch_with_a_fallback
async function load(url) {
  if (typeof fetch === "function") return (await fetch(url)).text();
  return mux.web.fetch({ url });
}
return (await load("https://example.com")).length;
// ---- typeof_returns_early
if (typeof require === "undefined") return "no modules";
return require("fs").readFileSync("/etc/hostname", "utf8");
// ---- typeof_buffer
const encode = (s) => (typeof Buffer !== "undefined" ? Buffer.from(s).toString("base64") : btoa(s));
return encode("muxd");
// ---- typeof_window
const env = typeof window === "undefined" ? "server" : window.location.href;
return env;
// ---- global_this_property
const p = globalThis.process;
return p?.env?.HOME ?? "no home";
// ---- global_this_fetch
const get = globalThis.fetch ?? (async (url) => ({ text: () => mux.web.fetch({ url }) }));
const r = await get("https://example.com");
return (await r.text()).includes("muxd");
// ---- name_in_global_this
return "document" in globalThis ? document.title : "no document";
// ---- undeclared_in_try
let home;
try {
  home = process.env.HOME;
} catch {
  home = "/home/nobody";
}
return home;
// ---- require_in_try
let lodash = null;
try {
  lodash = require("lodash");
} catch (e) {
  console.warn("no lodash:", e.name);
}
return lodash === null;
// ---- import_in_try
async function optional(name) {
  try {
    return await import(name);
  } catch {
    return null;
  }
}
return (await optional("lodash")) === null;
// ---- fetch_in_try_with_a_return
async function get(url) {
  try {
    const r = await fetch(url);
    return await r.text();
  } catch (e) {
    return `${e.name}: ${e.message}`;
  }
}
return await get("https://example.com");
// ---- exit_only_on_failure
const { total } = await mux.github.list_issues({ owner: "acme", repo: "app" });
if (total === 0) process.exit(1);
return total;
// ---- exit_in_a_helper
function fail(message) {
  console.error(message);
  process.exit(1);
}
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
if (!issues.length) fail("no issues");
return issues.length;
// ---- exit_in_a_catch
try {
  return (await mux.github.get_user({ username: "ada" })).name;
} catch (e) {
  console.error(e);
  process.exit(1);
}
// ---- exit_in_catch_of_main
async function main() {
  return (await mux.tasks.stats({ project: "app" })).total;
}
return await main().catch((e) => {
  console.error(e);
  process.exit(1);
});
// ---- helper_that_is_not_called
async function download(url) {
  const res = await fetch(url);
  return Buffer.from(await res.arrayBuffer());
}
return (await mux.web.search({ query: "mcp" })).results[0].url;
// ---- debug_branch
const verbose = mux.input?.verbose;
if (verbose) process.stdout.write("starting\n");
return "done";
// ---- behind_and
mux.input?.verbose && alert("hello");
return 1;
// ---- behind_a_ternary
const now = mux.input?.fake ? fakeClock.now() : 0;
return now;
// ---- behind_nullish
const config = { path: "a" };
const path = config.path ?? path_from_env();
return path;
// ---- default_parameter_that_is_given
function key(name, secret = process.env.SECRET) {
  return `${name}:${secret}`;
}
return key("a", "b");
// ---- server_in_mux
const source = "jira" in mux ? await mux.jira.search({ q: "x" }) : await mux.github.search_issues({ q: "x" });
return source.total_count;
// ---- tool_in_server
let text;
if ("read_text" in mux.mail) text = await mux.mail.read_text({ id: "m1" });
else text = (await mux.mail.read({ id: "m1" })).body;
return text.split("\n")[0];
// ---- servers_listed_by_keys
const hasSlack = Object.keys(mux).includes("slack");
if (hasSlack) await mux.slack.post({ text: "hi" });
return hasSlack;
// ---- tools_found_by_search
const { results } = await mux.search("list issues of a repository");
const hit = results.find((r) => r.path === "github.list_issues");
return (await mux.call(hit.path, { owner: "acme", repo: "app" })).total;
// ---- error_kind_of_a_call
try {
  await mux.call("github.no_such_tool", {});
  return "found";
} catch (e) {
  return e.kind;
}
// ---- name_of_the_environment
const where = typeof Deno !== "undefined" ? "deno" : typeof Bun !== "undefined" ? "bun" : "muxd";
return where;
// ---- newer_globals
return [typeof Iterator, new Float16Array(2).length, new DisposableStack().disposed];
// ---- newer_methods
const grouped = Object.groupBy([1, 2, 3], (n) => (n % 2 ? "odd" : "even"));
const upper = Iterator.from(["a", "b"]).map((x) => x.toUpperCase()).toArray();
return [grouped.odd.length, upper, [3, 1].toSorted(), new Set([1]).union(new Set([2])).size];
// ---- math_of_the_engine
return [Math.f16round(1.1) > 1, Promise.try(() => 1) instanceof Promise, RegExp.escape("a.b").length > 3];
