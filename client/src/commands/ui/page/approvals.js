// Calls that wait for the user's approval, and tools that are always allowed.
//
// Invariant: a click decides only what the user has seen: buttons are disabled for half a second whenever the list
// changes. It answers the cards that its card names, and no other call that waits. "Always" asks again first.

import { get, post } from "./http.js";
import { h } from "./draw.js";
import { known, waiting } from "./live.js";
import { acting, attempt, error, foreign, grid, long, nothing, prose, redraw, runLink, state, toolLink } from "./parts.js";
import { ago, bytes, clock, count, json, programPath, span } from "./words.js";

const REST = 500;
// How long an outcome is shown.
const REMEMBERED = 20000;
// By approval: what became of a click, and arguments that were too long for the list.
const asked = new Map();
// The approval for which "Always" waits to be confirmed.
let confirming;
const whole = new Map();
let order = "";
let moved = 0;
let grants;
let problem;

const DECISIONS = [
  ["once", "Allow once", "good", "Allows this call, with these arguments"],
  ["session", "For this session", "", "Also allows later calls of this tool by this client, until its connection ends"],
  ["deny", "Deny", "bad", "The program gets an error that says that you denied the call"],
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

// Other cards that this decision answers, too: of the same tool and rule, and of the same run or the same agent.
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
  const others = withIt(approval, "session", shown).join(", ");
  return others && h("p", { class: "quiet", "data-with": others }, `\u201cFor this session\u201d also allows ${others}.`);
}

const OUTCOMES = {
  once: "was allowed once",
  session: "was allowed for this session",
  always: "is always allowed now",
  deny: "was denied",
};

async function decide(approval, decision, shown) {
  confirming = undefined;
  asked.set(approval.approval, { busy: true });
  redraw();
  await attempt(
    async () => {
      const decided = await post("decide", { approval: approval.approval, decision, shown });
      asked.set(approval.approval, { decided, decision, at: Date.now() });
      if (decision === "always") grants = undefined;
    },
    (failure) => asked.set(approval.approval, { failure }),
  );
}

async function resume(id) {
  asked.set(id, { busy: true });
  redraw();
  await attempt(
    async () => {
      const { run } = await post("resume", { id });
      asked.delete(id);
      location.hash = `#/runs/${encodeURIComponent(run)}`;
    },
    (failure) => asked.set(id, { failure }),
  );
}

function argumentsOf(approval, where = "card") {
  const id = approval.approval;
  const found = approval.arguments ?? whole.get(id);
  if (found !== undefined) return long(json(found), `${where} arguments ${id}`, "arguments");
  const load = () =>
    attempt(
      async () => whole.set(id, (await get("approval", { id })).approvals[0].arguments),
      (failure) => asked.set(id, { failure }),
    );
  return [
    long(approval.preview ?? "", `${where} preview ${id}`, "arguments"),
    h("button", { class: "small", key: `load ${id}`, onclick: load }, `Show all ${bytes(approval.bytes)}`),
  ];
}

function left(approval) {
  if (approval.left_ms === undefined) return undefined;
  const rest = approval.left_ms - (Date.now() - known.approvalsAt);
  return rest > 0 ? `answer within ${span(rest)}` : "the time to answer is over";
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
    programPath(approval.path) !== approval.path && h("p", { class: "quiet" }, "The server's own name for it is ", h("code", {}, foreign(approval.path, 200)), "."),
    h(
      "p",
      { class: "quiet" },
      foreign(approval.client, 60),
      approval.agent && [" for ", foreign(approval.agent, 60)],
      approval.run && [" in ", runLink(approval.run)],
      approval.workspace && [", ", foreign(approval.workspace, 120)],
      ` \u00b7 ${ago(approval.since_ms, Date.now())}`,
      left(approval) && ` \u00b7 ${left(approval)}`,
    ),
    h(
      "p",
      {},
      "Rule: ",
      h("code", {}, foreign(approval.rule, 300)),
      approval.reason && [" \u00b7 ", foreign(approval.reason, 500)],
    ),
    argumentsOf(approval),
    failure && error(failure, id),
    approval.state === "pending" &&
      h("p", { class: "quiet" }, "This call was not answered in time, and its program got an error. If you allow it now, you can resume the run."),
    !over && confirming !== id && alsoLetsGo(approval, shown),
    !over && confirming === id && confirmAlways(approval, busy || rest, shown),
    !(confirming === id && !over) && h(
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
      !over &&
        h(
          "button",
          {
            key: "always",
            class: "link-like",
            disabled: busy || rest,
            onclick: acting(() => {
              confirming = id;
              focusSoon(`[data-approval="${id}"] .confirm .back-out`);
            }),
          },
          "Always allow this tool\u2026",
        ),
      over &&
        approval.run &&
        h("button", { key: "resume", disabled: busy || rest, onclick: () => resume(id) }, "Resume the run"),
    ),
  );
}

// "Always" in full: what it allows now and later, for whom, and until when.
function confirmAlways(approval, resting, shown) {
  const id = approval.approval;
  const others = withIt(approval, "always", shown).map((other) => shown.find((one) => one.approval === other));
  const path = () => h("b", { class: "path" }, foreign(programPath(approval.path), 120));
  const leave = acting(() => {
    confirming = undefined;
    focusSoon(`[data-approval="${id}"] .link-like`);
  });
  return h(
    "div",
    { class: "confirm", role: "group", "aria-label": "Confirm always", key: `confirm ${id}`, onkeydown: (event) => event.key === "Escape" && leave(event) },
    h("p", {}, "Always allow ", path(), "?"),
    h(
      "ul",
      {},
      h("li", {}, h("b", {}, "Which calls: "), "every call of ", path(), ", with any arguments, not only those above."),
      h("li", {}, h("b", {}, "From: "), approval.agent ? ["the agent ", foreign(approval.agent, 60), ", through any client."] : "every client that does not name an agent."),
      h("li", {}, h("b", {}, "How long: "), "until you revoke it on this page, or the tool or its server's entry changes. Another rule can still ask."),
      h("li", {}, h("b", {}, "Allowed now: "), id, others.length > 0 && `, and also ${others.length === 1 ? "this waiting call" : `these ${others.length} waiting calls`}:`, others.length === 0 && ", and no other waiting call."),
    ),
    others.map((other) =>
      h("div", { key: `with ${other.approval}`, "data-with": other.approval }, h("span", { class: "id" }, other.approval), " ", foreign(other.client, 60), argumentsOf(other, "confirm")),
    ),
    h(
      "div",
      { class: "buttons" },
      h("button", { key: "back", class: "back-out", onclick: leave }, "Back"),
      h(
        "button",
        { key: "yes", class: "bad", disabled: resting, onclick: () => decide(approval, "always", others.map((other) => other.approval)) },
        others.length ? `Always allow, and release ${count(others.length + 1, "call")}` : "Always allow",
      ),
    ),
  );
}

// Moves the focus once the page is drawn.
function focusSoon(selector) {
  requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector(selector)?.focus()));
}

// The outcomes of calls that are no longer listed.
function outcomes(list, of) {
  const listed = new Set(list.map((approval) => approval.approval));
  return [...asked]
    .filter(([id, { decided, at }]) => decided && !listed.has(id) && Date.now() - at < REMEMBERED)
    .filter(([, { decided }]) => !of || of(decided.approval))
    .slice(-3)
    .map(([id, { decided, decision }]) =>
      h(
        "p",
        { class: "said", key: `said ${id}`, role: "status" },
        h("b", {}, id),
        ` ${OUTCOMES[decision]}`,
        decided.released ? `, with ${count(decided.released, "other call")}` : "",
        ".",
        decided.warning && [" ", prose(decided.warning, 300)],
      ),
    );
}

// The calls that wait, all of them or those for which `of` is true, for other views.
export function cards(of) {
  const all = [...waiting()].sort((a, b) => a.since_ms - b.since_ms);
  const rest = rests(all);
  const shown = all.filter((approval) => !of || of(approval));
  return [outcomes(all, of), shown.map((approval) => card(approval, rest, shown))];
}

const told = (failure) => {
  problem = failure;
};

function loadGrants() {
  grants = [];
  return attempt(async () => {
    grants = (await get("grants")).granted;
    problem = undefined;
  }, told);
}

const revoke = (grant) =>
  attempt(async () => {
    await post("revoke", { id: grant.grant });
    grants = undefined;
  }, told);

export function leave() {
  grants = undefined;
  confirming = undefined;
  asked.clear();
}

export function approvals() {
  if (grants === undefined) loadGrants();
  const all = [...(known.approvals?.approvals ?? [])].sort((a, b) => a.since_ms - b.since_ms);
  const rest = rests(all);
  return [
    h("h1", {}, "Approvals"),
    outcomes(all),
    all.length === 0 && nothing("No calls are waiting for your approval."),
    all.map((approval) => card(approval, rest, all)),
    h("h2", {}, "Always allowed"),
    problem && error(problem, "grants"),
    (grants ?? []).length === 0
      ? nothing("No tools are always allowed.")
      : grid(
          undefined,
          [["Tool"], ["Agent"], ["Rule", "wide"], ["Since"], [""]],
          grants.map((grant) =>
            h(
              "tr",
              { key: grant.grant },
              h("td", {}, toolLink(grant.path)),
              h("td", {}, grant.agent ? foreign(grant.agent, 60) : h("span", { class: "quiet" }, "none")),
              h("td", { class: "wide" }, h("code", {}, foreign(grant.rule, 120))),
              h("td", { title: clock(grant.since_ms) }, ago(grant.since_ms, Date.now())),
              h("td", {}, h("button", { class: "small", "aria-label": `Revoke ${programPath(grant.path)}`, onclick: () => revoke(grant) }, "Revoke")),
            ),
          ),
        ),
  ];
}
