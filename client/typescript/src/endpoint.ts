// Where the daemon's socket and locks stand, as `proto/src/endpoint.rs` has it.
//
// Invariant: nothing is dialled that another user could have placed there.

import { lstat, mkdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

import { MuxError } from "./error.js";

export interface Places {
  /** What `MUX_HOME` must be for a daemon that is started, if that is where these come from. */
  home: string | undefined;
  state: string;
  runtime: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The longest path that a socket can have on every system that we know. */
const MAX_SOCKET_PATH = 103;

/** Everything under `home`, or `MUX_HOME`, or the places that the system has for each. */
export function places(home: string | undefined, environment: Environment, platform: string, user = homedir()): Places {
  const under = home ?? environment["MUX_HOME"];
  if (under !== undefined && under !== "") {
    if (!isAbsolute(under)) throw unusable(`MUX_HOME must be an absolute path, not ${JSON.stringify(under)}`);
    return { home: under, state: join(under, "state"), runtime: join(under, "run") };
  }
  if (platform === "darwin") {
    const state = join(user, "Library", "Application Support", "mux");
    return { home: undefined, state, runtime: join(state, "run") };
  }
  // Relative paths count for nothing, says XDG.
  const absolute = (name: string) => {
    const path = environment[name];
    return path !== undefined && isAbsolute(path) ? path : undefined;
  };
  const state = join(absolute("XDG_STATE_HOME") ?? join(user, ".local", "state"), "mux");
  const runtime = absolute("XDG_RUNTIME_DIR");
  return { home: undefined, state, runtime: runtime === undefined ? join(state, "run") : join(runtime, "mux") };
}

export function socketOf(places: Places): string {
  return join(places.runtime, "muxd.sock");
}

export function startupLock(places: Places): string {
  return join(places.state, "startup.lock");
}

/** Where to look for a daemon: at our own place first, then where the last one said that it listens. */
export async function sockets(places: Places): Promise<string[]> {
  const ours = socketOf(places);
  try {
    const [line = ""] = (await readFile(join(places.state, "muxd.lock"), "utf8")).split("\n");
    const word: unknown = JSON.parse(line);
    const theirs = (word as { socket?: unknown }).socket;
    return typeof theirs === "string" && theirs !== ours ? [ours, theirs] : [ours];
  } catch {
    return [ours];
  }
}

/** Makes the directories for their owner alone, and refuses what others could have placed there. */
export async function prepare(places: Places): Promise<void> {
  const socket = socketOf(places);
  const length = Buffer.byteLength(socket);
  if (length > MAX_SOCKET_PATH) {
    const limit = `${length} bytes and the system takes ${MAX_SOCKET_PATH}`;
    throw unusable(`the socket path ${socket} has ${limit}; set MUX_HOME to a shorter path`);
  }
  for (const directory of [places.state, places.runtime]) {
    await mkdir(directory, { recursive: true, mode: 0o700 }).catch((error: Error) => {
      // What stands there is looked at below.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw unusable(`cannot create ${directory}: ${error.message}`);
    });
    await checkOwner(directory);
  }
}

/** Fails unless the directory is this user's, and nobody else can write there. */
export async function checkOwner(directory: string): Promise<void> {
  const found = await lstat(directory);
  const me = process.geteuid?.();
  if (found.isSymbolicLink()) {
    throw unusable(`${directory} is a symbolic link; name the directory itself in MUX_HOME`);
  } else if (!found.isDirectory()) {
    throw unusable(`${directory} is not a directory; remove it, or set MUX_HOME elsewhere`);
  } else if (me !== undefined && found.uid !== me) {
    throw unusable(`${directory} belongs to user ${found.uid}, not to you (${me}); set MUX_HOME to a directory of your own`);
  } else if ((found.mode & 0o022) !== 0) {
    throw unusable(`others can write to ${directory}; run: chmod go-w ${directory}`);
  }
}

/** Node cannot ask who is at the other end: nobody else can have bound a socket in a directory of ours. */
export async function checkSocket(socket: string): Promise<void> {
  await checkOwner(dirname(socket));
}

function unusable(message: string): MuxError {
  return MuxError.of("unavailable", message);
}
