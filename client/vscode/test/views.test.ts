// What lists, marks and questions say.

import { strict as assert } from "node:assert";
import { test } from "node:test";

import type { ApprovalInfo, ServerInfo } from "@muxd/client";

import { approvalViews, decided, details } from "../src/approvals.js";
import { marks } from "../src/diagnostics.js";
import { input, isProgram, shown } from "../src/programs.js";
import { serverViews } from "../src/servers.js";

test("mistakes are marked where they stand, whatever the text has become", () => {
  const at = (line: number, column: number) => ({ kind: "type", message: "no", line, column, recoverable: true });
  const found = {
    errors: [{ ...at(2, 7), hint: "yes" }, at(1, 1), at(9, 9), { kind: "syntax", message: "end", recoverable: true }],
    warnings: [at(2, 11)],
    unchecked: "no compiler",
  };
  assert.deepEqual(
    marks(found, "const ä = 1;\nreturn größe.x;").map((mark) => [mark.severity, mark.line, mark.start, mark.end, mark.message]),
    [
      ["error", 1, 6, 7, "no\nyes"],
      ["error", 0, 0, 5, "no"],
      ["error", 1, 8, 12, "no"],
      ["error", 0, 0, 5, "end"],
      ["warning", 1, 10, 12, "no"],
      ["hint", 0, 0, 0, "types were not checked: no compiler"],
    ],
  );
  assert.deepEqual(marks({ errors: [at(1, 1)], warnings: [] }, ""), [
    { line: 0, start: 0, end: 0, message: "no", code: "type", severity: "error" },
  ]);
});

const APPROVAL: ApprovalInfo = {
  approval: "A7",
  state: "waiting",
  path: "github.delete_repo",
  arguments: { repo: "x" },
  bytes: 12,
  client: "mux mcp",
  agent: "small",
  run: "a-3",
  rule: "rule 2",
  reason: "it cannot be undone",
  since_ms: 0,
  left_ms: 41_200,
};

test("an approval shows what would be sent, for whom and why", () => {
  const [view] = approvalViews([APPROVAL]);
  assert.equal(view?.description, "A7, waiting, 42 s left, for mux mcp (small)");
  assert.ok(view?.open);
  for (const part of ['"repo": "x"', "a-3", "rule 2", "it cannot be undone"]) assert.ok(view?.details.includes(part), part);
  const { arguments: _, ...long } = APPROVAL;
  assert.match(details({ ...long, preview: '{"text":"aaa', bytes: 90_000 }), /\{"text":"aaa… \(the beginning of 90000 bytes\)/);
  assert.ok(!approvalViews([{ ...APPROVAL, state: "denied" }])[0]?.open);
  const [spelled] = approvalViews([{ ...APPROVAL, path: "github.delete-repo" }]);
  assert.equal(spelled?.label, "github.delete_repo");
  assert.match(spelled?.details ?? "", /its server calls it github\.delete-repo/);
  assert.doesNotMatch(view?.details ?? "", /its server calls it/);
});

test("a decision is told in one sentence", () => {
  const approval = { ...APPROVAL, state: "approved" as const };
  assert.equal(decided({ approval, live: true, released: 0 }), "github.delete_repo is approved");
  assert.match(decided({ approval, live: false, released: 1 }), /its program has ended: `mux resume` continues it; 1 more call continues/);
  assert.match(decided({ approval: { ...approval, state: "denied" }, live: true, released: 0 }), /is denied$/);
});

test("a server shows its state, and what to do about it", () => {
  const server: ServerInfo = { name: "docs", state: "ready", command: "docs --x", tools: 3, starts: 1, calls: 2, in_flight: 1 };
  const view = (more: Partial<ServerInfo>) => serverViews([{ ...server, ...more }])[0];
  assert.equal(view({})?.description, "ready, 3 tools, 1 calls in flight");
  assert.equal(view({})?.icon, "pass");
  const locked = view({ state: "failed", auth: "required", warnings: [{ text: "tools changed" }] });
  assert.equal(locked?.icon, "key");
  assert.match(locked?.details ?? "", /mux servers login docs[\s\S]*tools changed/);
  assert.ok(!view({ state: "disabled" })?.restarts);
  assert.equal(view({ state: "of the future" as never })?.icon, "question");
});

test("programs, inputs and results", () => {
  assert.ok(isProgram("/w/x.mux.ts") && !isProgram("/w/x.ts"));
  assert.deepEqual(input('{"n": 1}'), { n: 1 });
  assert.equal(input("  "), null);
  assert.throws(() => input("{n"), SyntaxError);
  assert.equal(shown("text\n"), "text\n");
  assert.equal(shown({ a: 1 }), '{\n  "a": 1\n}');
});
