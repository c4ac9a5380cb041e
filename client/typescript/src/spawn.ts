// Starts a daemon and waits for its own word that it serves.
//
// Invariant: the daemon inherits the startup lock's file as its standard input. Node cannot lock a file, so the
// daemon takes that lock itself: of a hundred clients at once, one daemon stays, and all are told so.

import { spawn } from "node:child_process";
import { open } from "node:fs/promises";
import type { Readable } from "node:stream";

import { type Environment, type Places, startupLock } from "./endpoint.js";
import { MuxError } from "./error.js";

/** The new daemon may have to wait for its predecessor's drain. */
const PATIENCE = 40_000;
/** A report is a short line. */
const LONGEST_REPORT = 64 * 1024;

/** What the daemon says once, as a line of JSON. */
type Report = { ready: { pid: number } } | { already_running: object } | { failed: { message: string } };

/** False if it ended without a word: somebody may have killed it. */
export async function start(places: Places, program: string, environment: Environment): Promise<boolean> {
  const lock = await open(startupLock(places), "a+", 0o600);
  let line: string | undefined;
  try {
    line = await report(lock.fd, program, childEnvironment(places, environment));
  } finally {
    await lock.close();
  }
  if (line === undefined) return false;
  const said = JSON.parse(line) as Report;
  if ("failed" in said) throw MuxError.of("unavailable", `muxd did not start: ${said.failed.message}`);
  return true;
}

/** The contract that this program speaks; absent if it does not tell. */
export function contractOf(program: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const child = spawn(program, ["--version", "--json"], { stdio: ["ignore", "pipe", "ignore"], windowsHide: true });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (piece: string) => (said += piece));
    child.on("error", () => resolve(undefined));
    child.on("close", () => {
      try {
        resolve((JSON.parse(said) as { contract?: number }).contract);
      } catch {
        resolve(undefined);
      }
    });
  });
}

/** The same home as ours, whatever the environment says. */
function childEnvironment(places: Places, environment: Environment): NodeJS.ProcessEnv {
  const inherited: NodeJS.ProcessEnv = { ...environment };
  delete inherited["MUX_HOME"];
  return places.home === undefined ? inherited : { ...inherited, MUX_HOME: places.home };
}

/** One line of its standard output; absent if that ends before. */
function report(lock: number, program: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    // On Windows, Node ends its children with itself unless they are detached, and a console would open a window.
    // Elsewhere the daemon leaves our session by itself, which it could not do as the leader of a process group.
    const apart = { detached: process.platform === "win32", windowsHide: true };
    const child = spawn(program, ["child"], { stdio: [lock, "pipe", "ignore"], env, ...apart });
    const output = child.stdout as Readable;
    const over = (act: () => void) => {
      clearTimeout(timer);
      // It lives on without us.
      child.unref();
      output.destroy();
      act();
    };
    const late = MuxError.of("unavailable", `muxd did not start: it was not ready within ${PATIENCE / 1000} s`);
    const timer = setTimeout(() => over(() => reject(late)), PATIENCE);
    let said = "";
    output.setEncoding("utf8");
    output.on("data", (piece: string) => {
      said += piece;
      const end = said.indexOf("\n");
      if (end >= 0) over(() => resolve(said.slice(0, end)));
      else if (said.length > LONGEST_REPORT) over(() => reject(MuxError.of("unavailable", `${program} is no muxd`)));
    });
    output.on("end", () => over(() => resolve(undefined)));
    child.on("error", (error) => {
      const hint = "set MUX_DAEMON to the muxd program";
      over(() => reject(MuxError.of("unavailable", `cannot start ${program}: ${error.message}`, hint)));
    });
  });
}
