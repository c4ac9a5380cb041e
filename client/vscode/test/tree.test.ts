// A run as a tree, from its events.

import { strict as assert } from "node:assert";
import { test } from "node:test";

import type { RunEvent } from "@muxd/client";

import { type Node, RunTree } from "../src/tree.js";

/** One line a node, as a user reads it. */
function drawn(node: Node, depth = 0): string[] {
  const line = `${"  ".repeat(depth)}${node.state}: ${node.label} | ${node.description}`;
  return [line, ...node.children.flatMap((child) => drawn(child, depth + 1))];
}

function tree(...events: object[]): RunTree {
  const tree = new RunTree("a-1", "/w/x.mux.ts", "x.mux.ts");
  events.forEach((event, at) => tree.apply({ seq: at + 1, at_ms: at, ...event } as unknown as RunEvent));
  return tree;
}

const NO = { kind: "tool", message: "no", hint: "try another", recoverable: false };

test("calls stand below their run and change as they go on", () => {
  const events: object[] = [
    { type: "checked", warnings: [{ kind: "type", message: "may be null", line: 2, column: 3, recoverable: true }] },
    { type: "started" },
    { type: "server_starting", server: "fix" },
    { type: "server_ready", server: "fix", ms: 12 },
    { type: "call_started", call: 1, path: "fix.add" },
    { type: "call_started", call: 2, path: "fix.fail" },
    { type: "call_progress", call: 1, path: "fix.add", progress: 1, total: 2, message: "half" },
  ];
  assert.deepEqual(drawn(tree(...events).root), [
    "running: x.mux.ts | running",
    "  note: warning: may be null | line 2:3",
    "  done: fix starts | 12 ms",
    "  running: fix.add | 1 of 2: half",
    "  running: fix.fail |",
  ].map((line) => (line.endsWith("|") ? `${line} ` : line)));
  const whole = tree(
    ...events,
    { type: "call_ended", call: 1, path: "fix.add", ms: 0.25, bytes: 9 },
    { type: "call_ended", call: 2, path: "fix.fail", ms: 1500, bytes: 0, error: NO },
    { type: "console", level: "log", text: "hi" },
    { type: "emitted", part: { value: { type: "image" } } },
    { type: "ended", outcome: { result: 1 } },
  );
  assert.deepEqual(drawn(whole.root).slice(3), [
    "  done: fix.add | 0.3 ms, 9 bytes",
    "  failed: fix.fail | tool: no",
    "  note: hi | log",
    "  note: part | image",
  ]);
  assert.equal(whole.root.children[3]?.tooltip, "tool: no\nhint: try another");
  assert.ok(whole.isOver);
  assert.match(whole.root.description, /^ended after/);
});

test("what was on its way when the run ended never ends", () => {
  const cut = tree({ type: "started" }, { type: "call_started", call: 1, path: "fix.sleep" }, {
    type: "ended",
    outcome: { error: { kind: "cancelled", message: "stopped", recoverable: false } },
  });
  assert.deepEqual(drawn(cut.root), [
    "failed: x.mux.ts | failed (cancelled) after 2 ms",
    "  failed: fix.sleep | was in flight",
  ]);
  const gone = tree({ type: "started" });
  gone.lost({ kind: "unknown_outcome", message: "the daemon is gone", recoverable: false });
  assert.deepEqual(drawn(gone.root), ["failed: x.mux.ts | failed (unknown_outcome)"]);
});

test("a run whose call waits for an approval says so, and names tools as programs do", () => {
  const asked = { type: "approval_asked", approval: "A1", path: "my-server.do-it", arguments: "{}", bytes: 2, rule: "r" };
  const events: object[] = [{ type: "started" }, asked, { ...asked, approval: "A2" }];
  assert.deepEqual(drawn(tree(...events).root).slice(0, 2), [
    "running: x.mux.ts | waiting for approval",
    "  running: my_server.do_it is waiting for approval | ",
  ]);
  const over = { type: "approval_over", approval: "A1", path: "my-server.do-it", ending: "approved" };
  assert.equal(tree(...events, over).root.description, "waiting for approval");
  const called = tree(...events, over, { ...over, approval: "A2" }, { type: "call_started", call: 1, path: "my-server.do-it" });
  assert.equal(called.root.description, "running");
  assert.equal(called.root.children[2]?.label, "my_server.do_it");
});

test("steps, approvals and what goes on are shown, and what is not known changes nothing", () => {
  const shown = tree(
    { type: "resumed", run: "a-0", calls: 2 },
    { type: "step_started", step: "s1", tool: "fix.add" },
    { type: "step_ended", step: "s1", tool: "fix.add", ms: 2, bytes: 3 },
    { type: "step_skipped", step: "s2", tool: "fix.add", reason: "s1 failed" },
    { type: "approval_asked", approval: "A1", path: "fix.counter", arguments: '{"key":"a"}', bytes: 11, rule: "r" },
    { type: "approval_over", approval: "A1", path: "fix.counter", ending: "approved" },
    { type: "of_the_future", much: 1 },
  );
  assert.deepEqual(drawn(shown.root).slice(1), [
    "  note: continues a-0 | 2 calls are not repeated",
    "  done: step s1: fix.add | 2 ms, 3 bytes",
    "  note: step s2: fix.add | skipped: s1 failed",
    "  done: fix.counter is waiting for approval | approved",
  ]);
  assert.equal(shown.root.children[3]?.tooltip, '{"key":"a"}');
});
