// Where the socket stands: the same places as `proto/src/endpoint.rs` has.

import { strict as assert } from "node:assert";
import { chmod, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { places, prepare, socketOf, sockets } from "../src/endpoint.js";
import { failure } from "./home.js";

test("one directory for everything, or the places of the system", () => {
  const socket = (home: string | undefined, environment: Record<string, string>, platform = "linux") =>
    socketOf(places(home, environment, platform, "/home/me"));
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
  assert.deepEqual(await sockets(mine), [socketOf(mine)]);
  await chmod(mine.runtime, 0o777);
  await assert.rejects(prepare(mine), failure("unavailable", "chmod go-w"));
  await rm(mine.runtime, { recursive: true });
  await symlink(base, mine.runtime);
  await assert.rejects(prepare(mine), failure("unavailable", "symbolic link"));
  const long = places(join(base, "x".repeat(120)), {}, "linux");
  await assert.rejects(prepare(long), failure("unavailable", "shorter path"));
});
