// Calls that wait for somebody, answered with one click; and what is always allowed.
//
// Invariant: a click that was meant for what stood there before decides nothing: buttons rest for half a second
// whenever the list moves. A click answers the cards that its card names, and no other call that waits.

import { get, post } from "./http.js";
import { h } from "./draw.js";
import { known, waiting } from "./live.js";
import { error, foreign, long, nothing, redraw, runLink, state, toolLink } from "./parts.js";
import { ago, bytes, clock, count, json, programPath, span } from "./words.js";

const REST = 500;
// How long what was said stands there.
const REMEMBERED = 20000;
// By approval: what became of a click, and arguments that were too long for the list.
const asked = new Map();
const whole = new Map();
let order = "";
let moved = 0;
let grants;
let problem;

const DECISIONS = [
  ["once", "Allow once", "good", "This call, with these arguments"],
  ["session", "For this session", "", "Later calls of this tool by this client, too, until its connection ends"],
  ["always", "Always", "", "Later calls of this tool as it is now, too, for this agent, until you revoke it"],
  ["deny", "Deny", "bad", "The program is told that somebody refused"],
];

function rests(list) {
  const now = list.map((approval) => approval.approval).join(" ");
  if (now !== order) {
    order = now;
    moved = performance.now();
    setTimeout(redraw, REST + 20);
  }
  return performance.now() - moved < REST;
}

// Other cards that stand there and go with this one: of the same tool and rule, and surely of the same session, or of
// the same agent.
function withIt(approval, decision, shown) {
  const goes = {
    session: (other) => approval.run !== undefined && other.run === approval.run,
    always: (other) => other.agent === approval.agent,
  }[decision];
  if (!goes || !approval.cover) return [];
  return shown
    .filter((other) => other.approval !== approval.approval && other.state === "waiting")
    .filter((other) => other.cover === approval.cover && goes(other))
    .map((other) => other.approval);
}

function alsoLetsGo(approval, shown) {
  const [session, always] = ["session", "always"].map((decision) => withIt(approval, decision, shown).join(", "));
  if (!session && !always) return undefined;
  const words = [session && `\u201cFor this session\u201d also allows ${session}`, always && `\u201cAlways\u201d also allows ${always}`];
  return h("p", { class: "quiet", "data-with": always || session }, `${words.filter(Boolean).join("; ")}.`);
}

async function decide(approval, decision, shown) {
  asked.set(approval.approval, { busy: true });
  redraw();
  try {
    const decided = await post("decide", { approval: approval.approval, decision, shown });
    asked.set(approval.approval, { decided, decision, at: Date.now() });
    if (decision === "always") grants = undefined;
  } catch (failure) {
    asked.set(approval.approval, { failure });
  }
  redraw();
}

async function resume(id) {
  asked.set(id, { busy: true });
  redraw();
  try {
    const { run } = await post("resume", { id });
    asked.delete(id);
    location.hash = `#/runs/${encodeURIComponent(run)}`;
  } catch (failure) {
    asked.set(id, { failure });
    redraw();
  }
}

function argumentsOf(approval) {
  const id = approval.approval;
  const found = approval.arguments ?? whole.get(id);
  if (found !== undefined) return long(json(found), `arguments ${id}`, "arguments");
  const load = async () => {
    try {
      const list = await get("approval", { id });
      whole.set(id, list.approvals[0].arguments);
    } catch (failure) {
      asked.set(id, { failure });
    }
    redraw();
  };
  return [
    long(approval.preview ?? "", `preview ${id}`, "arguments"),
    h("button", { class: "small", onclick: load }, `Show all ${bytes(approval.bytes)}`),
  ];
}

function left(approval) {
  if (approval.left_ms === undefined) return undefined;
  const rest = approval.left_ms - (Date.now() - known.approvalsAt);
  return rest > 0 ? `answer within ${span(rest)}` : "the time is over";
}

function card(approval, rest, shown) {
  const id = approval.approval;
  const { busy, failure } = asked.get(id) ?? {};
  const over = approval.state === "approved" || approval.state === "denied";
  return h(
    "section",
    { class: "card approval", key: id, "data-approval": id },
    h(
      "h3",
      {},
      h("span", { class: "id" }, id),
      " ",
      toolLink(approval.path),
      " ",
      approval.state !== "waiting" && state(approval.state),
    ),
    // Two tools of a server may be written alike.
    programPath(approval.path) !== approval.path && h("p", { class: "quiet" }, "Its server calls it ", h("code", {}, foreign(approval.path, 200)), "."),
    h(
      "p",
      { class: "quiet" },
      foreign(approval.client, 60),
      approval.agent && [" as ", foreign(approval.agent, 60)],
      approval.run && [" in ", runLink(approval.run)],
      approval.workspace && [", ", foreign(approval.workspace, 120)],
      ` \u00b7 ${ago(approval.since_ms, Date.now())}`,
      left(approval) && ` \u00b7 ${left(approval)}`,
    ),
    h(
      "p",
      {},
      "Asked because of ",
      h("code", {}, foreign(approval.rule, 300)),
      approval.reason && [": ", foreign(approval.reason, 500)],
    ),
    argumentsOf(approval),
    failure && error(failure, id),
    approval.state === "pending" &&
      h("p", { class: "quiet" }, "Its program was told that nobody answered. Once it is approved, the run can go on."),
    !over && alsoLetsGo(approval, shown),
    h(
      "div",
      { class: "buttons" },
      !over &&
        DECISIONS.map(([decision, words, look, title]) =>
          h(
            "button",
            {
              key: decision,
              class: look,
              title,
              disabled: busy || rest,
              onclick: () => decide(approval, decision, withIt(approval, decision, shown)),
            },
            words,
          ),
        ),
      over &&
        approval.run &&
        h("button", { key: "resume", disabled: busy || rest, onclick: () => resume(id) }, "Go on with its run"),
    ),
  );
}

// What was said of calls that are in no list any more.
function outcomes(list, of) {
  const listed = new Set(list.map((approval) => approval.approval));
  return [...asked]
    .filter(([id, { decided, at }]) => decided && !listed.has(id) && Date.now() - at < REMEMBERED)
    .filter(([, { decided }]) => !of || decided.approval.run === of)
    .slice(-3)
    .map(([id, { decided, decision }]) =>
      h(
        "p",
        { class: "said", key: `said ${id}`, role: "status" },
        h("b", {}, id),
        decision === "deny" ? " is denied" : ` is allowed: ${decision}`,
        decided.released ? `; ${count(decided.released, "other call")} with it` : "",
        decided.warning && ["; ", foreign(decided.warning, 300)],
      ),
    );
}

// The calls that wait, of one run or of all; for the views in which they are met.
export function cards(of) {
  const all = [...waiting()].sort((a, b) => a.since_ms - b.since_ms);
  const rest = rests(all);
  const shown = all.filter((approval) => !of || approval.run === of);
  return [outcomes(all, of), shown.map((approval) => card(approval, rest, shown))];
}

async function loadGrants() {
  grants = [];
  try {
    grants = (await get("grants")).granted;
    problem = undefined;
  } catch (failure) {
    problem = failure;
  }
  redraw();
}

async function revoke(grant) {
  try {
    await post("revoke", { id: grant.grant });
    grants = undefined;
  } catch (failure) {
    problem = failure;
  }
  redraw();
}

export function leave() {
  grants = undefined;
  asked.clear();
}

export function approvals() {
  if (grants === undefined) loadGrants();
  const all = [...(known.approvals?.approvals ?? [])].sort((a, b) => a.since_ms - b.since_ms);
  const rest = rests(all);
  return [
    h("h1", {}, "Approvals"),
    outcomes(all),
    all.length === 0 && nothing("No call waits for you."),
    all.map((approval) => card(approval, rest, all)),
    h("h2", {}, "Always allowed"),
    problem && error(problem, "grants"),
    (grants ?? []).length === 0
      ? nothing("No tool is always allowed.")
      : h(
          "table",
          {},
          h("thead", {}, h("tr", {}, ["Tool", "Agent", "Rule", "Since", ""].map((name) => h("th", { class: name === "Rule" ? "wide" : "" }, name)))),
          h(
            "tbody",
            {},
            grants.map((grant) =>
              h(
                "tr",
                { key: grant.grant },
                h("td", {}, toolLink(grant.path)),
                h("td", {}, grant.agent ? foreign(grant.agent, 60) : h("span", { class: "quiet" }, "none")),
                h("td", { class: "wide" }, h("code", {}, foreign(grant.rule, 120))),
                h("td", { title: clock(grant.since_ms) }, ago(grant.since_ms, Date.now())),
                h("td", {}, h("button", { class: "small", onclick: () => revoke(grant) }, "Revoke")),
              ),
            ),
          ),
        ),
  ];
}
