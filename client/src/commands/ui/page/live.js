// What this page knows, kept up to date by one stream of messages for as long as the page is seen.
//
// Invariant: a page that nobody sees holds no connection: a browser has six of them for all tabs of one address.

import { Refused, stream } from "./http.js";
import { Trace } from "./spans.js";

export const known = {
  // "opening", "open", "lost" or "refused".
  stream: "opening",
  why: undefined,
  build: undefined,
  link: undefined,
  status: undefined,
  runs: new Map(),
  approvals: undefined,
  // When the list of approvals came.
  approvalsAt: 0,
  latencies: [],
  // The run that is shown.
  shown: undefined,
  trace: undefined,
  missing: undefined,
};

const UNSEEN = 5000;
let listener = () => {};
let current;
let turn = 0;

export function onNews(told) {
  listener = told;
}

// From now on this run is shown, or none.
export function show(run) {
  if (run === known.shown) return;
  known.shown = run;
  known.trace = run && new Trace();
  known.missing = undefined;
  reopen();
}

export function waiting() {
  return (known.approvals?.approvals ?? []).filter((approval) => approval.state === "waiting");
}

function reopen() {
  turn += 1;
  current?.abort();
}

export async function follow() {
  let pause = 250;
  document.addEventListener("visibilitychange", () => {
    const mine = turn;
    if (document.hidden) setTimeout(() => document.hidden && mine === turn && reopen(), UNSEEN);
  });
  for (;;) {
    await seen();
    const mine = turn;
    current = new AbortController();
    try {
      const values = { run: known.shown, after: known.trace?.last || undefined };
      for await (const message of stream("stream", values, current.signal)) {
        if (mine !== turn) break;
        pause = 250;
        take(message);
      }
    } catch (error) {
      if (error instanceof Refused && (error.status === 401 || error.status === 403 || error.status === 421)) {
        known.stream = "refused";
        known.why = error;
        return listener();
      }
    }
    current.abort();
    if (mine !== turn) continue;
    known.stream = "lost";
    listener();
    await new Promise((wake) => setTimeout(wake, pause));
    pause = Math.min(pause * 2, 4000);
  }
}

function seen() {
  if (!document.hidden) return undefined;
  return new Promise((wake) => document.addEventListener("visibilitychange", wake, { once: true }));
}

function take(message) {
  known.stream = "open";
  if (message.build) {
    // The first message of a stream has everything.
    known.build = message.build;
    known.runs = new Map();
  }
  if (message.link) known.link = message.link;
  if (message.status) known.status = message.status;
  if (message.latencies) known.latencies = message.latencies;
  if (message.approvals) {
    known.approvals = message.approvals;
    known.approvalsAt = Date.now();
  }
  for (const run of message.runs?.changed ?? []) known.runs.set(run.run, run);
  for (const run of message.runs?.gone ?? []) known.runs.delete(run);
  for (const event of message.events ?? []) known.trace?.take(event);
  if (message.missing) known.missing = message.missing;
  listener();
}
