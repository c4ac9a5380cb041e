// ---- record_of_any
const args: Record<string, any> = { owner: "acme", repo: "app" };
return (await mux.github.list_issues(args)).total;
// ---- record_of_unknown
const args: Record<string, unknown> = {};
args.owner = "acme";
args.repo = "app";
return (await mux.github.list_issues(args)).total;
// ---- object_filled_step_by_step
const args = {};
args.owner = "acme";
args.repo = "app";
if (!mux.input?.all) args.state = "open";
return (await mux.github.list_issues(args)).total;
// ---- object_filled_by_keys
const args = { owner: "acme" };
args["repo"] = "app";
return (await mux.github.list_issues(args)).total;
// ---- object_assign
const base = { owner: "acme" };
const args = Object.assign({}, base, { repo: "app" });
return (await mux.github.list_issues(args)).total;
// ---- object_assign_in_place
const args = { owner: "acme" };
Object.assign(args, { repo: "app", state: "closed" });
return (await mux.github.list_issues(args)).total;
// ---- object_from_entries
const args = Object.fromEntries([["owner", "acme"], ["repo", "app"]]);
return (await mux.github.list_issues(args)).total;
// ---- object_from_search_params
const params = new URLSearchParams("owner=acme&repo=app");
return (await mux.github.list_issues(Object.fromEntries(params))).total;
// ---- object_from_a_url
const url = new URL("https://github.com/acme/app/issues/4");
const [owner, repo, , number] = url.pathname.slice(1).split("/");
return (await mux.github.get_issue({ owner, repo, number: Number(number) })).title;
// ---- interface_for_the_arguments
interface Query {
  owner: string;
  repo: string;
  state?: string;
}
const query: Query = { owner: "acme", repo: "app" };
return (await mux.github.list_issues(query)).total;
// ---- partial_of_an_interface
interface Query { owner: string; repo: string }
const query: Partial<Query> = {};
query.owner = "acme";
query.repo = "app";
return (await mux.github.list_issues(query)).total;
// ---- interface_for_an_open_object
interface Patch { title: string; done: boolean }
const patch: Patch = { title: "Write more docs", done: false };
return await mux.tasks.update({ id: 1, patch });
// ---- class_for_an_open_object
class Patch {
  constructor(public_title) {
    this.title = public_title;
  }
}
return await mux.tasks.update({ id: 1, patch: new Patch("x") });
// ---- rows_with_an_interface
interface Row { name: string; team: string }
const rows: Row[] = [{ name: "Ken", team: "core" }, { name: "Dennis", team: "core" }];
return await mux.db.insert({ table: "people", rows });
// ---- pair_from_split_and_map
const from = "52.5,13.4".split(",").map(Number);
return (await mux.maps.route({ from, to: [48.1, 11.6] })).km;
// ---- pair_from_two_numbers
const point = [];
point.push(52.5);
point.push(13.4);
return (await mux.maps.route({ from: point, to: point })).km;
// ---- pair_from_a_result
const { lat, lon } = await mux.maps.geocode({ address: "Main Street 1" });
const here = [lat, lon];
return (await mux.maps.route({ from: here, to: [lat + 1, lon + 1] })).minutes;
// ---- pair_from_values
const place = await mux.maps.geocode({ address: "Main Street 1" });
return (await mux.maps.route({ from: Object.values(place), to: [0, 0] })).minutes;
// ---- pair_from_a_regular_expression
const m = "at 52.5 / 13.4".match(/([\d.]+) \/ ([\d.]+)/);
const from = m.slice(1).map(parseFloat);
return (await mux.maps.route({ from, to: [0, 0] })).minutes;
// ---- frozen_labels
const labels = Object.freeze(["bug", "p1"]);
return (await mux.github.create_issue({ owner: "acme", repo: "app", title: "T", labels })).number;
// ---- labels_as_const
const labels = ["bug", "p1"] as const;
return (await mux.github.create_issue({ owner: "acme", repo: "app", title: "T", labels })).number;
// ---- readonly_parameter
const create = (title: string, labels: readonly string[]) => mux.github.create_issue({ owner: "acme", repo: "app", title, labels });
return (await create("T", ["bug"])).number;
// ---- spread_of_a_base
const repo = { owner: "acme", repo: "app" };
const pages = await Promise.all([1, 2].map((page) => mux.github.list_issues({ ...repo, page })));
return pages.map((p) => p.issues.length);
// ---- spread_with_a_condition
const state = mux.input?.state;
return (await mux.github.list_issues({ owner: "acme", repo: "app", ...(state && { state }) })).total;
// ---- spread_of_defaults
const defaults = { owner: "acme", repo: "app", state: "all", per_page: 50 };
const list = (more = {}) => mux.github.list_issues({ ...defaults, ...more });
return [(await list()).total, (await list({ state: "open" })).total];
// ---- required_argument_by_spread
const required = mux.input?.where ?? { owner: "acme", repo: "app" };
return (await mux.github.get_issue({ number: 2, ...required })).title;
// ---- date_as_iso_text
const from = new Date(Date.UTC(2026, 2, 1)).toISOString().slice(0, 10);
return (await mux.calendar.list_events({ from })).events.length;
// ---- date_object_for_a_text
const start = new Date(Date.UTC(2026, 2, 5, 10));
const end = new Date(start.getTime() + 30 * 60 * 1000);
return await mux.calendar.create_event({ title: "Call", start, end });
// ---- null_from_a_variable_that_may_be_null
let milestone = null;
return (await mux.github.create_issue({ owner: "acme", repo: "app", title: "T", milestone })).number;
// ---- undefined_for_optional
const labels = undefined;
return (await mux.github.create_issue({ owner: "acme", repo: "app", title: "T", labels, body: undefined })).number;
// ---- array_of_unions
const ids = [];
for (const m of (await mux.mail.search({ query: "a" })).messages) if (m.unread) ids.push(m.id);
return await mux.mail.mark({ ids, read: true });
// ---- filter_of_nulls
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
const people = issues.map((i) => i.assignee).filter(Boolean).map((a) => a.login);
return (await mux.calendar.free_busy({ people: [...new Set(people)] })).busy.grace.length;
// ---- values_of_mixed_kinds
const params = [1, "Ada", null, true, { deep: [1] }];
return (await mux.db.query({ sql: "select * from people where id = ?", params })).rows.length;
// ---- any_from_input
const { owner = "acme", repo = "app" } = mux.input ?? {};
return (await mux.github.list_issues({ owner, repo })).total;
// ---- arguments_by_a_function
const where = (repo) => ({ owner: "acme", repo });
return (await mux.github.list_issues(where("app"))).total;
// ---- arguments_by_reduce
const args = ["owner=acme", "repo=app"].reduce((all, pair) => {
  const [key, value] = pair.split("=");
  all[key] = value;
  return all;
}, {});
return (await mux.github.list_issues(args)).total;
// ---- arguments_by_json
const args = JSON.parse(JSON.stringify({ owner: "acme", repo: "app" }));
return (await mux.github.list_issues(args)).total;
// ---- arguments_by_structured_clone
const template = { owner: "acme", repo: "app", title: "" };
const issue = structuredClone(template);
issue.title = "Cloned";
issue.body = "From a template";
return (await mux.github.create_issue(issue)).url;
// ---- number_from_a_text_by_plus
const number = +"4";
return (await mux.github.get_issue({ owner: "acme", repo: "app", number })).comments;
// ---- number_from_a_match
const number = Number("see #3".match(/#(\d+)/)?.[1]);
return (await mux.github.get_issue({ owner: "acme", repo: "app", number })).state;
// ---- undeclared_argument_of_an_open_schema
return (await mux.github.get_user({ username: "ada", include: "followers" })).login;
// ---- undeclared_argument_of_another_open_schema
return (await mux.web.search({ query: "mcp", lang: "en", safe: true })).results.length;
// ---- nested_arguments_from_a_result
const { events } = await mux.calendar.list_events({ from: "2026-03-01" });
const copies = [];
for (const { title, start, end, attendees } of events.slice(0, 2)) {
  const { id } = await mux.calendar.create_event({ title: `Copy of ${title}`, start, end, attendees });
  copies.push(id);
}
return copies;
// ---- generic_helper
async function all<T>(list: T[], f: (x: T) => Promise<any>) {
  const out = [];
  for (const x of list) out.push(await f(x));
  return out;
}
return await all([1, 2, 3], async (number) => (await mux.github.get_issue({ owner: "acme", repo: "app", number })).title);
// ---- tool_as_a_value
const list = mux.github.list_issues;
return (await list({ owner: "acme", repo: "app", state: "closed" })).total;
// ---- tool_in_a_table
const tools = { issues: mux.github.list_issues, file: mux.github.get_file };
const { content } = await tools.file({ owner: "acme", repo: "app", path: "README.md" });
return content.split("\n").length;
// ---- tools_destructured
const { list_issues, get_issue } = mux.github;
const { issues } = await list_issues({ owner: "acme", repo: "app" });
return (await get_issue({ owner: "acme", repo: "app", number: issues[0].number })).title;
// ---- tool_by_a_computed_name
const tool = "get_" + "user";
return (await mux.github[tool]({ username: "grace" })).company;
