// What happened in a run, as spans of time: made of its events, one by one. Pure.
//
// Invariant: an event that was taken already changes nothing. A span without an end is still on its way.

import { programPath } from "./words.js";

export class Trace {
  constructor() {
    this.last = 0;
    this.spans = [];
    this.lines = [];
    this.warnings = [];
    this.parts = 0;
    this.unchecked = undefined;
    this.resumed = undefined;
    this.recording = undefined;
    this.outcome = undefined;
    // When the last event came, in milliseconds since the run was accepted.
    this.at = 0;
    this.open = new Map();
  }

  take({ seq, at_ms: at, event }) {
    if (seq <= this.last) return;
    this.last = seq;
    this.at = at;
    const [[kind, what]] = Object.entries(event);
    this[`on_${kind}`]?.(what, at);
  }

  on_checked({ warnings, unchecked }) {
    this.warnings = warnings ?? [];
    this.unchecked = unchecked;
  }

  on_started(_, at) {
    if (at > 0) this.begin("wait", "start", "waiting to start", 0, { to: at });
  }

  on_server_starting({ server }, at) {
    // Each call that waits for it says so.
    if (!this.open.has(`server ${server}`)) this.begin("server", `server ${server}`, `${server} startup`, at, { server });
  }

  on_server_ready({ server, ms }, at) {
    this.end(`server ${server}`, at, { took: ms });
  }

  on_call_started({ call, path }, at) {
    this.begin("call", `call ${call}`, programPath(path), at, { path, call });
  }

  on_call_progress({ call, progress, total, message }) {
    Object.assign(this.open.get(`call ${call}`) ?? {}, { progress: { progress, total, message } });
  }

  on_call_ended({ call, path, ms, bytes, error }, at) {
    const id = `call ${call}`;
    if (!this.open.has(id)) this.begin("call", id, programPath(path), Math.max(0, at - ms), { path, call });
    this.end(id, at, { took: ms, bytes, error });
  }

  on_step_started({ step, tool, description }, at) {
    this.begin("step", `step ${step}`, step, at, { tool, description });
  }

  on_step_ended({ step, ms, bytes, error }, at) {
    this.end(`step ${step}`, at, { took: ms, bytes, error });
  }

  on_step_skipped({ step, reason }, at) {
    this.begin("step", `step ${step}`, step, at, { to: at, skipped: reason });
  }

  on_console({ level, text }, at) {
    this.lines.push({ level, text, at });
  }

  on_emitted() {
    this.parts += 1;
  }

  on_resumed({ run, calls }) {
    this.resumed = { run, calls };
  }

  on_approval_asked({ approval, path }, at) {
    this.begin("approval", `approval ${approval}`, `${approval} waits for approval`, at, { path, approval });
  }

  on_approval_over({ approval, ending }, at) {
    this.end(`approval ${approval}`, at, { ending });
  }

  on_recorded({ recording }) {
    this.recording = recording;
  }

  on_ended({ outcome }, at) {
    this.outcome = outcome;
    for (const span of this.open.values()) Object.assign(span, { to: at, lost: true });
    this.open.clear();
  }

  begin(kind, id, name, from, more) {
    const span = { kind, id, name, from, to: undefined, ...more };
    this.spans.push(span);
    if (span.to === undefined) this.open.set(id, span);
  }

  end(id, at, more) {
    const span = this.open.get(id);
    if (!span) return;
    this.open.delete(id);
    // A span's own measure is finer than the times of events.
    const to = more.took === undefined ? at : span.from + more.took;
    Object.assign(span, more, { to: Math.max(span.from, to) });
  }
}

// How a span stands, in one word.
export function standing(span) {
  if (span.lost) return "lost";
  if (span.skipped) return "skipped";
  if (span.to === undefined) return "open";
  if (span.error) return "failed";
  if (span.ending && span.ending !== "approved") return span.ending;
  return "done";
}

// Round steps of more than a minute, in milliseconds.
const LONG_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 360, 720, 1440].map((minutes) => minutes * 60000);

// Marks on an axis from 0 to `total`, at round values: `about` so many, none near its end, where the total stands.
export function ticks(total, about = 5) {
  if (!(total > 0)) return [];
  const rough = total / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const short = [1, 2, 5, 10].map((factor) => factor * power);
  const steps = rough > 30000 ? LONG_STEPS : short;
  const step = steps.find((candidate) => candidate >= rough) ?? rough;
  const marks = [];
  for (let mark = step; mark < total * (1 - 0.4 / about); mark += step) marks.push(mark);
  return marks;
}

const FOLDED = 4;

function areAlike(one, other) {
  const areCalls = one.kind === "call" && other.kind === "call" && one.path === other.path;
  return areCalls && standing(one) === standing(other) && one.error?.message === other.error?.message;
}

// Consecutive calls of one tool that ended alike, as one group, if there are four or more.
export function groups(spans) {
  const found = [];
  for (const span of spans) {
    const last = found.at(-1);
    if (last && areAlike(last[0], span)) last.push(span);
    else found.push([span]);
  }
  return found.flatMap((group) => (group.length < FOLDED ? group.map((span) => [span]) : [group]));
}
