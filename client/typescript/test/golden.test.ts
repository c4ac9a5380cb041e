// The frames that were recorded in tests/data/frames: what this client sends is what stands there, and what stands
// there is understood. That the types fit is compiled: see tests/it/editors/types.rs.

import { strict as assert } from "node:assert";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { type Server, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Connection } from "../src/connection.js";
import { type Method, request, spelled } from "../src/envelope.js";
import { Lost, MuxError } from "../src/error.js";
import { FrameReader, frame } from "../src/frames.js";
import { told } from "./home.js";

interface Recorded {
  Request: { message: Record<string, never> };
}

async function recorded(what: string): Promise<Map<string, string>> {
  const folder = told("MUX_TEST_FRAMES");
  const found = new Map<string, string>();
  for (const file of await readdir(folder)) {
    const name = file.endsWith(what) ? file.slice(0, -what.length) : undefined;
    if (name !== undefined) found.set(name, await readFile(join(folder, file), "utf8"));
  }
  assert.ok(found.size > 50, `${found.size} frames in ${folder}`);
  return found;
}

/** The method of a spelling on the wire. */
function method(name: string): Method {
  return name.replace(/[A-Z]/g, (letter, at: number) => (at > 0 ? "_" : "") + letter.toLowerCase()) as Method;
}

test("requests are encoded as they were recorded, to the byte", async () => {
  for (const [name, text] of await recorded(".request.json")) {
    const [[on_wire, params]] = Object.entries((JSON.parse(text) as Recorded).Request.message) as [[string, never]];
    assert.equal(spelled(method(on_wire)), on_wire);
    assert.equal(request(1, method(on_wire), params, 30_000), text, name);
  }
});

test("recorded responses are understood", async (t) => {
  const responses = await recorded(".response.json");
  const folder = await mkdtemp(join(tmpdir(), "mux-"));
  t.after(() => rm(folder, { recursive: true }));
  for (const [name, text] of responses) {
    const socket = join(folder, "s");
    const server = await answering(socket, text);
    const connection = await Connection.dial(socket);
    const [[on_wire, answer]] = Object.entries(JSON.parse(text).message.Ok) as [[string, { Ok?: unknown; Err?: never }]];
    const asked = connection.ask(method(on_wire), {} as never);
    if ("Ok" in answer) {
      assert.deepEqual(await asked, answer.Ok, name);
    } else {
      const error: unknown = await asked.catch((error: unknown) => error);
      assert.ok(error instanceof MuxError);
      assert.deepEqual(error.toJSON(), answer.Err, name);
    }
    connection.close();
    await connection.closed;
    server.close();
  }
});

test("whoever waits when the connection ends is told that nobody knows what happened", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mux-"));
  t.after(() => rm(folder, { recursive: true }));
  const server = await answering(join(folder, "s"), undefined);
  t.after(() => server.close());
  const connection = await Connection.dial(join(folder, "s"));
  const error = await connection.ask("call", { request: { path: "a.b" } }).catch((error: unknown) => error);
  assert.ok(error instanceof Lost && error.sent && error.kind === "unknown_outcome", String(error));
  const after = await connection.ask("call", { request: { path: "a.b" } }).catch((error: unknown) => error);
  assert.ok(after instanceof Lost && !after.sent && after.kind === "unavailable", String(after));
});

/** A daemon that says this to the first request, or hangs up. */
function answering(path: string, text: string | undefined): Promise<Server> {
  const server = createServer((socket) => {
    const reader = new FrameReader();
    socket.on("error", () => undefined);
    socket.on("data", (piece) => {
      for (const _ of reader.push(piece)) {
        if (text === undefined) socket.destroy();
        else socket.write(frame(text));
      }
    });
  });
  return new Promise((resolve) => server.listen(path, () => resolve(server)));
}
