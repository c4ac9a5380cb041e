// A client outlives its daemon, and a hundred clients start one.

import { strict as assert } from "node:assert";
import { join } from "node:path";
import { after, test } from "node:test";

import { client, failure, told } from "./home.js";

const mux = client();
after(() => mux.close());

test("many clients at once start one daemon", async () => {
  const clients = Array.from({ length: 12 }, (_, n) => client({ name: `client ${n}` }));
  const results = await Promise.all(
    clients.map(async (mux, n) => (await mux.run("return mux.input + 1", { input: n })).result()),
  );
  assert.deepEqual(results, clients.map((_, n) => n + 1));
  const pids = await Promise.all(clients.map(async (mux) => (await mux.status()).pid));
  assert.equal(new Set(pids).size, 1);
  for (const mux of clients) mux.close();
});

test("after a stop the next request starts the next daemon", async () => {
  const first = (await mux.status()).pid;
  await mux.stop({ now: true });
  assert.deepEqual(await mux.call("fix.add", { a: 1, b: 2 }), { sum: 3 });
  const second = (await mux.status()).pid;
  assert.notEqual(first, second);
});

test("what was on its way when the daemon died is told as such, and is not sent again", async () => {
  const marked = mux.call("fix.sleep", { ms: 60_000 });
  const run = await mux.run(`await mux.fix.sleep({ ms: 60000 })`);
  while ((await mux.servers())[0]?.in_flight !== 2) continue;
  process.kill((await mux.status()).pid, "SIGKILL");
  await assert.rejects(marked, failure("unknown_outcome"));
  await assert.rejects(run.result(), failure("unknown_outcome", "gone"));
  assert.deepEqual(await mux.call("fix.add", { a: 2, b: 2 }), { sum: 4 });
  const calls = (await mux.servers())[0]?.calls;
  assert.equal(calls, 1);
});

test("a daemon that is draining lets its runs end, and new work goes to the next one", async () => {
  const run = await mux.run(`const { ms } = mux.input; await mux.fix.sleep({ ms }); return "whole"`, { input: { ms: 1500 } });
  while ((await mux.servers())[0]?.in_flight !== 1) continue;
  const before = (await mux.status()).pid;
  await mux.stop();
  const next = await mux.run(`return "next"`);
  assert.equal(await next.result(), "next");
  assert.equal(await run.result(), "whole");
  assert.notEqual((await mux.status()).pid, before);
});

test("after an upgrade runs end where they are, and whoever may be asked is asked by the next daemon", async () => {
  const asked: string[] = [];
  const own = client({
    name: "editor",
    approver: async ({ path }) => {
      asked.push(path);
      return { decision: "once" };
    },
  });
  const first = (await own.status()).pid;
  const run = await own.run(`await mux.fix.sleep({ ms: 1500 }); return "whole"`);
  while ((await own.servers())[0]?.in_flight !== 1) continue;
  const upgraded = await mux.upgrade(told("MUX_TEST_DAEMON"));
  assert.notEqual(upgraded.pid, first);
  // Asked of nobody by us: it came with the notice, as soon as the run here left a moment for it.
  while ((await own.status()).pid !== upgraded.pid) continue;
  await own.call("fix.counter", { key: "u" });
  assert.deepEqual(asked, ["fix.counter"]);
  assert.equal(await run.result(), "whole");
  own.close();
});

test("watchers go on with the next daemon", async () => {
  const stop = new AbortController();
  let lists = 0;
  await assert.rejects(async () => {
    for await (const approvals of mux.watchApprovals({ signal: stop.signal })) {
      assert.deepEqual(approvals, []);
      if (++lists === 2) stop.abort();
      else await mux.stop({ now: true });
    }
  }, failure("cancelled"));
  assert.equal(lists, 2);
  await mux.stop({ now: true });
  await assert.rejects(async () => {
    for await (const _ of mux.watchApprovals({ spawn: false })) continue;
  }, failure("unavailable", "no muxd is running"));
});

test("a daemon that cannot be started says why", async () => {
  const home = join(told("MUX_TEST_HOME"), "none");
  await assert.rejects(client({ daemon: "/nowhere/muxd", home }).servers(), failure("unavailable", "/nowhere/muxd"));
  // A program that is no muxd ends without a word.
  await assert.rejects(client({ daemon: "/bin/true", home }).servers(), failure("unavailable", "without a message"));
});
