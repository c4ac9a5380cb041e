// Where the daemon's socket and locks stand, as `proto/src/endpoint.rs` has it.
//
// Invariant: nothing is dialled that another user could have placed there.

import { lstat, mkdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, posix, win32 } from "node:path";

import { MuxError } from "./error.js";

export interface Places {
  /** What `MUX_HOME` must be for a daemon that is started, if that is where these come from. */
  home: string | undefined;
  state: string;
  runtime: string;
  /** Where the daemon listens: a file in `runtime`, or on Windows a named pipe whose name is made of that directory's. */
  socket: string;
  /** Where the daemon says who it is: its instance lock, or on Windows, where a locked file cannot be read, beside it. */
  record: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The longest path of a Unix socket that every system takes, and the longest name of a pipe. */
const MAX_SOCKET_PATH = 103;
const MAX_PIPE_NAME = 256;

/** Everything under `home`, or `MUX_HOME`, or the places that the system has for each. */
export function places(home: string | undefined, environment: Environment, platform: string, user = homedir()): Places {
  const { isAbsolute } = platform === "win32" ? win32 : posix;
  const join = platform === "win32" ? joinAsRust : posix.join;
  const at = (home: string | undefined, state: string, runtime: string): Places =>
    platform === "win32"
      ? { home, state, runtime, socket: pipeOf(runtime), record: join(state, "muxd.owner") }
      : { home, state, runtime, socket: join(runtime, "muxd.sock"), record: join(state, "muxd.lock") };
  const under = home ?? environment["MUX_HOME"];
  if (under !== undefined && under !== "") {
    if (!isAbsolute(under)) throw unusable(`MUX_HOME must be an absolute path, not ${JSON.stringify(under)}`);
    return at(under, join(under, "state"), join(under, "run"));
  }
  if (platform === "win32") {
    const local = environment["LOCALAPPDATA"] || join(user, "AppData", "Local");
    const state = join(local, "mux", "state");
    return at(undefined, state, join(state, "run"));
  }
  if (platform === "darwin") {
    const state = join(user, "Library", "Application Support", "mux");
    return at(undefined, state, join(state, "run"));
  }
  // Relative paths count for nothing, says XDG.
  const absolute = (name: string) => {
    const path = environment[name];
    return path !== undefined && isAbsolute(path) ? path : undefined;
  };
  const state = join(absolute("XDG_STATE_HOME") ?? join(user, ".local", "state"), "mux");
  const runtime = absolute("XDG_RUNTIME_DIR");
  return at(undefined, state, runtime === undefined ? join(state, "run") : join(runtime, "mux"));
}

/** As `proto/src/endpoint/windows.rs` has it: names of pipes have no directories, and their case does not matter. */
function pipeOf(runtime: string): string {
  return `\\\\.\\pipe\\mux-${runtime.toLowerCase().replaceAll(/[\\/:]/g, "-")}-muxd`;
}

/** The name of a pipe is made of the path as it was written, which Node's own function would normalize. */
function joinAsRust(base: string, ...names: string[]): string {
  return [base.replace(/[\\/]$/, ""), ...names].join("\\");
}

function isPipe(socket: string): boolean {
  return socket.startsWith("\\\\.\\pipe\\");
}

export function startupLock(places: Places): string {
  return join(places.state, "startup.lock");
}

/** Where to look for a daemon: at our own place first, then where the last one said that it listens. */
export async function sockets(places: Places): Promise<string[]> {
  const ours = places.socket;
  const { socket: theirs } = await recordOf(places);
  return typeof theirs === "string" && theirs !== ours ? [ours, theirs] : [ours];
}

/** What the last daemon said of itself; empty if it said nothing. */
async function recordOf(places: Places): Promise<{ socket?: unknown; pid?: unknown }> {
  try {
    const [line = ""] = (await readFile(places.record, "utf8")).split("\n");
    return (JSON.parse(line) as { socket?: unknown; pid?: unknown } | null) ?? {};
  } catch {
    return {};
  }
}

/** Makes the directories for their owner alone, and refuses what others could have placed there. */
export async function prepare(places: Places): Promise<void> {
  const { socket } = places;
  const length = Buffer.byteLength(socket);
  const most = isPipe(socket) ? MAX_PIPE_NAME : MAX_SOCKET_PATH;
  if (length > most) {
    const limit = `${length} bytes and the system allows ${most}`;
    throw unusable(`the socket path ${socket} has ${limit}; set MUX_HOME to a shorter path`);
  }
  for (const directory of [places.state, places.runtime]) {
    await mkdir(directory, { recursive: true, mode: 0o700 }).catch((error: Error) => {
      // What stands there is looked at below.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw unusable(`cannot create ${directory}: ${error.message}`);
    });
    if (!isPipe(socket)) await checkOwner(directory);
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
    throw unusable(`${directory} belongs to user ${found.uid}, not to you (${me}); set MUX_HOME to a directory that you own`);
  } else if ((found.mode & 0o022) !== 0) {
    throw unusable(`others can write to ${directory}; run: chmod go-w ${directory}`);
  }
}

/**
 * Whether nobody else can have placed there what is dialled, which Node cannot ask at the other end. A socket is in a
 * directory of ours. The name of a pipe can be taken by every user: a daemon of ours has to run under the process
 * number that it wrote into our directory, and while one runs, the pipe is its own.
 */
export async function isOurs(places: Places, socket: string): Promise<boolean> {
  if (!isPipe(socket)) {
    await checkOwner(dirname(socket));
    return true;
  }
  const { pid } = await recordOf(places);
  try {
    // Signal 0 only asks, and fails for a process of another user.
    return typeof pid === "number" && process.kill(pid, 0);
  } catch {
    return false;
  }
}

function unusable(message: string): MuxError {
  return MuxError.of("unavailable", message);
}
