// The client against a daemon of the test's own, with the fixture server `fix`.

import { strict as assert } from "node:assert";
import { after, test } from "node:test";

import { MuxError, type RunEvent } from "../src/index.js";
import { client, failure } from "./home.js";

const mux = client();
after(() => mux.close());

test("nothing is started for a look, and everything else starts a daemon", async () => {
  await assert.rejects(mux.status(), failure("unavailable", "no muxd is running"));
  const servers = await mux.servers();
  assert.deepEqual(servers.map((server) => [server.name, server.state]), [["fix", "cold"]]);
  const status = await mux.status();
  assert.equal(status.clients, 1);
  assert.equal(status.contract, 1);
});

test("a run tells what happens while it happens, and ends with its result", async () => {
  const source = `
    console.log("adding", mux.input.a);
    const { sum } = await mux.fix.add({ a: mux.input.a, b: 2 });
    mux.emit({ type: "text", text: "half" });
    return { sum };`;
  const run = await mux.run(source, { input: { a: 40 } });
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);
  const types = events.map((event) => event.type).filter((type) => !type.startsWith("server_"));
  assert.deepEqual(types, ["started", "console", "call_started", "call_ended", "emitted", "ended"]);
  assert.deepEqual(events.map((event) => event.seq), events.map((_, at) => at + 1));
  const call = events.find((event) => event.type === "call_ended");
  assert.ok(call?.type === "call_ended" && call.path === "fix.add" && call.error === undefined);
  const emitted = events.find((event) => event.type === "emitted");
  assert.ok(emitted?.type === "emitted");
  assert.deepEqual(await mux.value(emitted.part), { type: "text", text: "half" });
  assert.deepEqual(await run.result(), { sum: 42 });
  // What happened can be read again, here and by whoever knows its name.
  const again: RunEvent[] = [];
  for await (const event of await mux.watch(run.id)) again.push(event);
  assert.deepEqual(again, events);
  const listed = (await mux.runs({ limit: 1 })).runs[0];
  assert.ok(listed?.run === run.id && listed.state === "succeeded" && listed.client === "test");
});

test("events come while the run goes on", async () => {
  const run = await mux.run(`console.log("first"); await mux.fix.sleep({ ms: 60000 });`);
  for await (const event of run) {
    // The program would not end by itself before the test does.
    if (event.type === "call_started") await run.cancel();
  }
  await assert.rejects(run.result(), failure("cancelled"));
});

test("a program that fails throws its error with all that is known of it", async () => {
  const run = await mux.run(`const a = 1;\nawait mux.fix.fail({ message: "no luck" });`);
  const error = await run.result().catch((error: unknown) => error);
  assert.ok(error instanceof MuxError);
  assert.equal(error.kind, "tool");
  assert.equal(error.path, "fix.fail");
  assert.equal(error.line, 2);
  assert.match(error.message, /no luck/);
  const mistaken = await mux.run(`return await mux.fix.ad({ a: 1 })`);
  const mistake = await mistaken.result().catch((error: unknown) => error);
  assert.ok(mistake instanceof MuxError && mistake.kind === "type" && mistake.line === 1, String(mistake));
});

test("a program that is wrong is told so without being run", async () => {
  const { errors, warnings, unchecked } = await mux.check(`const x: number = "a";\nreturn await mux.fix.add({ a: 1 });`);
  assert.equal(unchecked, undefined);
  assert.deepEqual(errors.map(({ kind, line }) => [kind, line]), [["type", 2]]);
  assert.deepEqual(warnings.map(({ kind, line }) => [kind, line]), [["type", 1]]);
  assert.deepEqual((await mux.check("return 1")).errors, []);
});

test("one tool is called by hand, and a long value comes whole", async () => {
  assert.deepEqual(await mux.call("fix.add", { a: 1, b: 2 }), { sum: 3 });
  const raw = (await mux.callRaw("fix.add", { a: 1, b: 2 })) as { structuredContent: unknown };
  assert.deepEqual(raw.structuredContent, { sum: 3 });
  const long = await mux.call("fix.blob", { bytes: 5_000_000 });
  assert.equal((long as string).length, 5_000_000);
  await assert.rejects(mux.call("fix.add", { a: "x", b: 2 }), failure("validation"));
  await assert.rejects(mux.call("fix.nothing"), failure("not_found", "fix.nothing"));
  const run = await mux.run(`return await mux.fix.blob({ bytes: 400000 })`);
  const outcome = await run.outcome();
  assert.ok("stored" in outcome);
  let text = "";
  for await (const page of mux.pages(outcome.stored.handle)) text += page;
  assert.equal(JSON.parse(text), await run.result());
});

test("tools are found, described and typed", async () => {
  const { tools } = await mux.tools({ server: "fix" });
  assert.ok(tools.some((tool) => tool.path === "fix.add"));
  assert.equal((await mux.search("adds two numbers")).results[0]?.path, "fix.add");
  const { tools: described, missing } = await mux.describe(["fix.add", "fix.nothing"], { schemas: true });
  assert.match(described[0]?.declaration ?? "", /add\(/);
  assert.equal(missing?.[0]?.kind, "not_found");
  assert.match(await mux.types(["fix.add"]), /add\(args/);
});

test("types come again when they are others", async () => {
  const stop = new AbortController();
  const names: string[] = [];
  await assert.rejects(async () => {
    for await (const { name, text } of mux.watchTypes({ signal: stop.signal })) {
      names.push(name);
      assert.match(text, /namespace|interface|declare/);
      if (names.length === 2) stop.abort();
      // A result teaches the type of a tool that declares none.
      else await mux.call("fix.echo", { text: JSON.stringify({ learned: [1, 2] }) });
    }
  }, failure("cancelled"));
  assert.notEqual(names[0], names[1]);
});

test("a server is restarted by name", async () => {
  const before = (await mux.servers())[0];
  const now = await mux.restartServer("fix");
  assert.equal(now.starts, (before?.starts ?? 0) + 1);
  await assert.rejects(mux.restartServer("none"), failure("not_found"));
});

test("a message that fits no frame is refused here, and the connection goes on", async () => {
  await assert.rejects(mux.call("fix.echo", { text: "x".repeat(17 * 1024 * 1024) }), failure("limit", "16777216"));
  assert.deepEqual(await mux.call("fix.add", { a: 1, b: 1 }), { sum: 2 });
});
