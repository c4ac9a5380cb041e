// The steps that every client takes with `mux mcp`, regardless of its SDK, and the results. story.py does
// the same. tests/it/eras/sdks.rs reads the document that is printed at the end.
//
// Argument: {"command", "args", "env", "era": "legacy" | "modern", "journal"}, as JSON.
//
// An SDK provides: connect(told) -> client, where client has version, tools(), call(name, args,
// {onprogress, signal}), resources(), read(uri), prompts(), prompt(name), close(). The client calls
// told.elicited(message) for a question, which returns the answer, told.changed() when the tool list has
// changed, and told.failed(error) for unexpected errors.

import { existsSync, readFileSync } from "node:fs";

// The SDKs look at a notification a moment after they have read it, and have forgotten the token by then
// if they read the answer in the same piece.
const LATE = "Received a progress notification for an unknown token";

export async function tell(connect) {
  const given = JSON.parse(process.argv[2]);
  const seen = { questions: [], errors: [] };
  let changed;
  const change = new Promise((resolve) => (changed = resolve));
  const client = await connect(given, {
    elicited(message) {
      seen.questions.push(message);
      return { action: "accept", content: { username: "ada", email: "ada@example.com" } };
    },
    changed: () => changed(),
    failed(error) {
      const message = String(error?.message ?? error);
      if (!message.startsWith(LATE)) seen.errors.push(message);
    },
  });
  const run = (code, options) => client.call("run", { code }, options);

  seen.version = client.version;
  seen.tools = await client.tools();

  const progress = [];
  // The last call takes a while, because all progress should arrive before the answer.
  const sum = `
    const first = await mux.conf.add({ a: 1, b: 2 });
    console.log("halfway");
    const second = await mux.conf.add({ a: first.sum, b: 39 });
    await mux.conf.test_reconnection({});
    return { total: second.sum };`;
  const summed = await run(sum, { onprogress: (p) => progress.push(p.message ?? "") });
  seen.result = summed.structuredContent;
  seen.progress = progress;

  const emitted = await run(`
    const { content } = await mux.call.raw("conf.test_image_content", {});
    mux.emit(content[0]);`);
  seen.images = emitted.content.filter((part) => part.type === "image").map((part) => part.mimeType);

  const asked = await run(`return await mux.conf.test_elicitation({ message: "Who are you?" })`);
  seen.answered = asked.structuredContent?.result;

  const failed = await run(`return await mux.conf.test_error_handling({})`);
  seen.failed = { isError: failed.isError, kind: failed.structuredContent?.error?.kind };
  seen.unknown = await client.call("no_such_tool", {}).then(() => null, (error) => error.code);

  const stop = new AbortController();
  const waited = run(`return await mux.conf.wait({})`, {
    signal: stop.signal,
    onprogress: (p) => p.message?.startsWith("conf.wait") && whenBegun(given, () => stop.abort()),
  });
  seen.aborted = await waited.then(() => false, () => true);
  seen.cancelled = await until(client, () => journal(given).includes("cancelled"));

  await run(`await mux.conf.test_trigger_tool_change({})`);
  await change;
  seen.changed = true;

  const resource = (await client.resources()).find((one) => one.uri.includes("static-text"));
  seen.resource = resource && (await client.read(resource.uri)).contents[0].text;
  const prompt = (await client.prompts()).find((one) => one.name.endsWith("test_simple_prompt"));
  seen.prompt = prompt && (await client.prompt(prompt.name)).messages[0].content.text;

  await client.close();
  console.log(JSON.stringify(seen));
}

function journal({ journal }) {
  return existsSync(journal) ? readFileSync(journal, "utf8") : "";
}

// A call that is cancelled before it was sent is never heard of at its server.
function whenBegun(given, then) {
  if (journal(given).includes("begun")) then();
  else setTimeout(() => whenBegun(given, then), 5);
}

// Waits for the server and not for the clock: each look is one call long.
async function until(client, isTrue) {
  for (let tries = 0; tries < 500; tries++) {
    if (isTrue()) return true;
    await client.call("call", { path: "conf.test_simple_text" });
  }
  return false;
}
