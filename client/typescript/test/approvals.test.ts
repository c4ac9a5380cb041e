// Calls that have to be approved: answered from anywhere, or by the client itself. `fix.counter` is one.

import { strict as assert } from "node:assert";
import { after, test } from "node:test";

import type { ApprovalInfo, Mux } from "../src/index.js";
import { client, failure } from "./home.js";

const mux = client();
after(() => mux.close());

/** The first call that waits. */
async function waiting(mux: Mux): Promise<ApprovalInfo> {
  for await (const approvals of mux.watchApprovals()) {
    const first = approvals.find((approval) => approval.state === "waiting");
    if (first !== undefined) return first;
  }
  throw new Error("the watch has ended");
}

test("a call waits until somebody approves it", async () => {
  const run = await mux.run(`return await mux.fix.counter({ key: "a" })`);
  const approval = await waiting(mux);
  assert.equal(approval.path, "fix.counter");
  assert.equal(approval.run, run.id);
  assert.deepEqual((await mux.approval(approval.approval))?.arguments, { key: "a" });
  const decided = await mux.approve(approval.approval);
  assert.ok(decided.live);
  assert.ok((await run.result()) !== undefined);
  const types: string[] = [];
  for await (const event of run) types.push(event.type);
  assert.ok(types.includes("approval_asked") && types.includes("approval_over"), types.join());
  await assert.rejects(mux.approve(approval.approval), failure("not_found"));
});

test("a call that is denied is not made, and the program is told why", async () => {
  const call = mux.call("fix.counter", { key: "a" });
  await mux.deny((await waiting(mux)).approval, "not today");
  await assert.rejects(call, failure("denied", "not today"));
});

test("a client that can ask its user is asked, and told when it is not wanted any more", async () => {
  const asked: string[] = [];
  const own = client({
    name: "editor",
    approver: async (approval, signal) => {
      asked.push(approval.path);
      if (asked.length === 1) return { decision: "deny", reason: "the user said no" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return undefined;
    },
  });
  await assert.rejects(own.call("fix.counter", { key: "a" }), failure("denied", "the user said no"));
  const call = own.call("fix.counter", { key: "a" });
  // Another client of the same user, which reaches everybody's calls.
  const user = client({ name: "mux" });
  const { approval } = await waiting(user);
  // The list may have heard of it first.
  while (asked.length < 2) await new Promise((resolve) => setImmediate(resolve));
  await user.approve(approval);
  user.close();
  assert.ok((await call) !== undefined);
  assert.deepEqual(asked, ["fix.counter", "fix.counter"]);
  own.close();
});
