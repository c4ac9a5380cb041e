// Where the socket stands: the same places as `proto/src/endpoint.rs` has.

import { strict as assert } from "node:assert";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { isOurs, places, prepare, sockets } from "../src/endpoint.js";
import { failure } from "./home.js";

test("one directory for everything, or the places of the system", () => {
  const socket = (home: string | undefined, environment: Record<string, string>, platform = "linux") =>
    places(home, environment, platform, "/home/me").socket;
  assert.equal(socket("/x", { MUX_HOME: "/y" }), "/x/run/muxd.sock");
  assert.equal(socket(undefined, { MUX_HOME: "/y" }), "/y/run/muxd.sock");
  assert.equal(socket(undefined, { MUX_HOME: "", XDG_RUNTIME_DIR: "/run/user/1" }), "/run/user/1/mux/muxd.sock");
  assert.equal(socket(undefined, {}), "/home/me/.local/state/mux/run/muxd.sock");
  assert.equal(socket(undefined, { XDG_STATE_HOME: "/s", XDG_RUNTIME_DIR: "r" }), "/s/mux/run/muxd.sock");
  assert.equal(socket(undefined, {}, "darwin"), "/home/me/Library/Application Support/mux/run/muxd.sock");
  assert.throws(() => socket("mux", {}), failure("unavailable", "absolute"));
});

test("directories are made for their owner alone, and what others could have made is refused", async (t) => {
  const base = await mkdtemp(join(tmpdir(), "mux-"));
  t.after(() => rm(base, { recursive: true }));
  const mine = places(join(base, "home"), {}, "linux");
  await prepare(mine);
  await prepare(mine);
  assert.deepEqual(await sockets(mine), [mine.socket]);
  await chmod(mine.runtime, 0o777);
  await assert.rejects(prepare(mine), failure("unavailable", "chmod go-w"));
  await rm(mine.runtime, { recursive: true });
  await symlink(base, mine.runtime);
  await assert.rejects(prepare(mine), failure("unavailable", "symbolic link"));
  const long = places(join(base, "x".repeat(120)), {}, "linux");
  await assert.rejects(prepare(long), failure("unavailable", "shorter path"));
});

test("on Windows the pipe is named after its directory, as the daemon names it", () => {
  const at = (home: string | undefined, environment: Record<string, string>) =>
    places(home, environment, "win32", "C:\\Users\\Me");
  // The case of the unit test in `proto/src/endpoint/windows.rs`.
  assert.equal(at("C:\\Users\\Me\\mux", {}).socket, "\\\\.\\pipe\\mux-c--users-me-mux-run-muxd");
  assert.equal(at(undefined, { MUX_HOME: "D:/x" }).socket, "\\\\.\\pipe\\mux-d--x-run-muxd");
  assert.equal(at("C:\\a\\..\\b\\", {}).socket, "\\\\.\\pipe\\mux-c--a-..-b-run-muxd");
  const own = at(undefined, {});
  assert.equal(own.record, "C:\\Users\\Me\\AppData\\Local\\mux\\state\\muxd.owner");
  assert.equal(own.socket, "\\\\.\\pipe\\mux-c--users-me-appdata-local-mux-state-run-muxd");
  assert.equal(at(undefined, { LOCALAPPDATA: "E:\\l" }).state, "E:\\l\\mux\\state");
  assert.throws(() => at("mux", {}), failure("unavailable", "absolute"));
});

test("a pipe is dialled only while a daemon of ours runs", async (t) => {
  const base = await mkdtemp(join(tmpdir(), "mux-"));
  t.after(() => rm(base, { recursive: true }));
  const pipe = places("C:\\mux", {}, "win32").socket;
  const mine = { ...places(base, {}, "linux"), socket: pipe, record: join(base, "state", "muxd.owner") };
  assert.equal(await isOurs(mine, pipe), false);
  await mkdir(mine.state);
  await writeFile(mine.record, JSON.stringify({ pid: process.pid, socket: pipe }));
  assert.deepEqual(await sockets(mine), [pipe]);
  assert.equal(await isOurs(mine, pipe), true);
  await writeFile(mine.record, JSON.stringify({ pid: 2 ** 31 - 1, socket: pipe }));
  assert.equal(await isOurs(mine, pipe), false);
});
