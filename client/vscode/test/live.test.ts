// The extension's logic on a daemon of the test's own, with the fixture server `fix`.

import { strict as assert } from "node:assert";
import { after, test } from "node:test";

import { Mux } from "@muxd/client";

import { approvalViews } from "../src/approvals.js";
import { marks } from "../src/diagnostics.js";
import { follow } from "../src/follow.js";
import { serverViews } from "../src/servers.js";
import { RunTree } from "../src/tree.js";

const home = process.env["MUX_TEST_HOME"] ?? "";
const mux = new Mux({ name: "vscode", version: "0", home, daemon: process.env["MUX_TEST_DAEMON"] ?? "" });
after(() => mux.close());

test("to look on starts no daemon", async () => {
  const stop = new AbortController();
  const seen: unknown[] = [];
  const show = (approvals: unknown) => {
    seen.push(approvals);
    if (seen.length === 2) stop.abort();
  };
  await follow((signal) => mux.watchApprovals({ signal, spawn: false }), show, stop.signal, 1);
  assert.deepEqual(seen, [undefined, undefined]);
});

test("a program is marked as its check says, and runs as a tree", async () => {
  const wrong = `const n: number = 1;\nreturn await mux.fix.add({ a: n, bb: 2 });`;
  const [mark] = marks(await mux.check(wrong), wrong);
  assert.deepEqual([mark?.severity, mark?.line, wrong.split("\n")[1]?.slice(mark?.start, mark?.end)], ["error", 1, "bb"]);

  const right = wrong.replace("bb", "b");
  assert.deepEqual(marks(await mux.check(right), right), []);
  const run = await mux.run(right);
  const tree = new RunTree(run.id, "/w/x.mux.ts", "x.mux.ts");
  for await (const event of run) tree.apply(event);
  assert.deepEqual(await run.result(), { sum: 3 });
  const call = tree.root.children.find((node) => node.label === "fix.add");
  assert.equal(call?.state, "done");
  assert.equal(tree.root.state, "done");
});

test("servers and approvals are listed as they are", async () => {
  const [server] = serverViews((await mux.status()).servers);
  assert.equal(server?.name, "fix");
  assert.match(server?.description ?? "", /^ready, \d+ tools/);
  const stop = new AbortController();
  const call = mux.call("fix.counter", { key: "a" });
  await follow(
    (signal) => mux.watchApprovals({ signal, spawn: false }),
    async (approvals) => {
      const view = approvalViews(approvals ?? []).find((view) => view.open);
      if (view === undefined) return;
      assert.match(view.details, /^fix\.counter\(\{\n {2}"key": "a"\n\}\)/);
      stop.abort();
      await mux.deny(view.id, "no");
    },
    stop.signal,
  );
  await assert.rejects(call, { kind: "denied" });
});
