// ---- arguments_in_an_object
const args = { owner: "acme", repo: "app", state: "open" };
const { total } = await mux.github.list_issues(args);
return total;
// ---- state_in_a_let
let state = "open";
if (mux.input?.closed) state = "closed";
return (await mux.github.list_issues({ owner: "acme", repo: "app", state })).total;
// ---- loop_over_states
const totals = {};
for (const state of ["open", "closed", "all"]) {
  totals[state] = (await mux.github.list_issues({ owner: "acme", repo: "app", state })).total;
}
return totals;
// ---- map_over_states
const counts = await Promise.all(
  ["open", "closed"].map((state) => mux.github.list_issues({ owner: "acme", repo: "app", state })),
);
return counts.map((c) => c.total);
// ---- helper_with_a_string
async function count(state: string) {
  const r = await mux.github.list_issues({ owner: "acme", repo: "app", state });
  return r.total;
}
return (await count("open")) + (await count("closed"));
// ---- arrow_with_a_default
const count = async (state = "open") => (await mux.github.list_issues({ owner: "acme", repo: "app", state })).total;
return [await count(), await count("closed")];
// ---- ternary_of_strings
const wantsClosed: boolean = Boolean(mux.input?.closed);
const state = wantsClosed ? "closed" : "open";
return (await mux.github.list_issues({ owner: "acme", repo: "app", state })).total;
// ---- ternary_of_a_variable
const fallback: string = "open";
const state = mux.input?.state ? mux.input.state : fallback;
return (await mux.github.list_issues({ owner: "acme", repo: "app", state })).total;
// ---- object_of_options
const options = { mode: "foot", from: [1, 2], to: [3, 4] };
return await mux.maps.route(options);
// ---- states_from_a_record
const byName: Record<string, string> = { unresolved: "open", resolved: "closed" };
const out: Record<string, number> = {};
for (const [name, state] of Object.entries(byName)) {
  out[name] = (await mux.github.list_issues({ owner: "acme", repo: "app", state })).total;
}
return out;
// ---- state_in_capitals
const wanted = "OPEN";
return (await mux.github.list_issues({ owner: "acme", repo: "app", state: wanted.toLowerCase() })).total;
// ---- state_from_json
const config = JSON.parse('{"state":"closed","repo":"app"}');
return (await mux.github.list_issues({ owner: "acme", ...config })).total;
// ---- state_from_a_template
const kind = "clos";
return (await mux.github.list_issues({ owner: "acme", repo: "app", state: `${kind}ed` })).total;
// ---- state_from_a_split
const [owner, repo, state] = "acme/app/open".split("/");
return (await mux.github.list_issues({ owner, repo, state })).total;
// ---- state_from_a_set
const seen = new Set(["open"]);
let sum = 0;
for (const state of seen) sum += (await mux.github.list_issues({ owner: "acme", repo: "app", state })).total;
return sum;
// ---- state_from_a_map
const map = new Map([["ada", "open"], ["grace", "closed"]]);
const result = [];
for (const [who, state] of map) {
  const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app", state });
  result.push(`${who}: ${issues.length}`);
}
return result;
// ---- enum_like_object
const State = { Open: "open", Closed: "closed" };
return (await mux.github.list_issues({ owner: "acme", repo: "app", state: State.Closed })).total;
// ---- frozen_enum_like_object
const State = Object.freeze({ Open: "open", Closed: "closed" });
return (await mux.github.list_issues({ owner: "acme", repo: "app", state: State.Open })).total;
// ---- parameter_object
async function list({ owner, repo, state = "open" }: { owner: string; repo: string; state?: string }) {
  return mux.github.list_issues({ owner, repo, state });
}
return (await list({ owner: "acme", repo: "app" })).total;
// ---- state_of_a_result
const first = await mux.github.get_issue({ owner: "acme", repo: "app", number: 3 });
const same = await mux.github.list_issues({ owner: "acme", repo: "app", state: first.state });
return same.total;
// ---- switch_that_sets_a_string
let priority;
switch (new Date(0).getUTCDay()) {
  case 4: priority = "high"; break;
  default: priority = "low";
}
return (await mux.mail.send({ to: ["ada@example.com"], subject: "Hi", body: "…", priority })).sent;
// ---- folders_in_a_list_of_objects
const searches = [
  { query: "invoice", folder: "inbox" },
  { query: "build", folder: "archive" },
];
const found = await Promise.all(searches.map((s) => mux.mail.search(s)));
return found.map((f) => f.messages.length);
// ---- reminders_built_with_map
const reminders = [10, 60].map((minutes) => ({ method: "popup", minutes }));
const { id } = await mux.calendar.create_event({ title: "Call", start: "2026-03-05T10:00:00Z", end: "2026-03-05T10:30:00Z", reminders });
return id;
// ---- currency_from_an_account
const { accounts } = await mux.bank.accounts({});
const travel = accounts.find((a) => a.name === "Travel");
return await mux.bank.transfer({ from: "a1", to: travel.id, amount: 20, currency: travel.currency });
// ---- currency_as_a_key
const amounts = { EUR: 10, USD: 5 };
const done = [];
for (const currency in amounts) {
  const { status } = await mux.bank.transfer({ from: "a1", to: "a3", amount: amounts[currency], currency });
  done.push([currency, status]);
}
return done;
// ---- format_with_or
const format = mux.input?.format || "html";
const page = await mux.web.fetch({ url: "https://example.com", format });
return page.length;
// ---- format_from_a_list_by_index
const formats = ["markdown", "html", "text"];
const page = await mux.web.fetch({ url: "https://example.com", format: formats[1] });
return page.startsWith("<h1>");
// ---- mode_as_a_class_field
class Trip {
  mode = "foot";
  async minutes() {
    return (await mux.maps.route({ from: [0, 0], to: [1, 1], mode: this.mode })).minutes;
  }
}
return await new Trip().minutes();
// ---- generator_of_states
function* states() {
  yield "open";
  yield "closed";
}
let n = 0;
for (const state of states()) n += (await mux.github.list_issues({ owner: "acme", repo: "app", state })).total;
return n;
// ---- conflict_policy_as_an_argument
const insert = (rows, on_conflict = "ignore") => mux.db.insert({ table: "people", rows, on_conflict });
return (await insert([{ name: "Ken" }, { name: "Dennis" }])).inserted;
