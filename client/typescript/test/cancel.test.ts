// An AbortSignal reaches the server that works on the call.

import { strict as assert } from "node:assert";
import { after, test } from "node:test";

import type { Mux } from "../src/index.js";
import { client, failure } from "./home.js";

const mux = client();
after(() => mux.close());

/** How many requests the server was told to cancel. */
async function cancelled(mux: Mux): Promise<number> {
  const ids = (await mux.call("fix.cancelled")) as unknown[];
  return ids.length;
}

/** Asks until the server has heard of so many cancellations; the test runner's limit ends a wait in vain. */
async function heard(mux: Mux, count: number): Promise<void> {
  while ((await cancelled(mux)) < count) continue;
}

test("of a call", async () => {
  const before = await cancelled(mux);
  const stop = new AbortController();
  const call = mux.call("fix.sleep", { ms: 60_000 }, { signal: stop.signal });
  // What is asked on the same connection afterwards arrives afterwards.
  while ((await mux.servers())[0]?.in_flight !== 1) continue;
  stop.abort();
  await assert.rejects(call, failure("cancelled"));
  await heard(mux, before + 1);
  await assert.rejects(mux.call("fix.add", { a: 1, b: 1 }, { signal: stop.signal }), failure("cancelled"));
});

test("of a run, with all of its calls", async () => {
  const before = await cancelled(mux);
  const stop = new AbortController();
  const source = `await Promise.all([1, 2].map(() => mux.fix.sleep({ ms: 60000 })));`;
  const run = await mux.run(source, { signal: stop.signal });
  let calls = 0;
  for await (const event of run) {
    if (event.type === "call_started" && ++calls === 2) stop.abort();
  }
  await assert.rejects(run.result(), failure("cancelled"));
  await heard(mux, before + 2);
  await assert.rejects(mux.run(source, { signal: stop.signal }), failure("cancelled"));
});

test("the end of a client ends what it started, and nothing else", async () => {
  const before = await cancelled(mux);
  const other = client({ name: "other" });
  const mine = await other.run(`await mux.fix.sleep({ ms: 60000 })`);
  const detached = await other.run(`await mux.fix.sleep({ ms: 60000 })`, { detach: true });
  while ((await mux.servers())[0]?.in_flight !== 2) continue;
  other.close();
  await assert.rejects(mine.result(), failure("unknown_outcome"));
  await heard(mux, before + 1);
  // The detached one belongs to the client of that name, and to no other.
  const back = client({ name: "other" });
  const running = async (mux: Mux) => (await mux.runs({ running: true })).runs.map((run) => run.run);
  assert.deepEqual([await running(mux), await running(back)], [[], [detached.id]]);
  await assert.rejects(mux.watch(detached.id), failure("not_found"));
  const watched = await back.watch(detached.id);
  await watched.cancel();
  await assert.rejects(watched.result(), failure("cancelled"));
});
