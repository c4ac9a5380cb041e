// From the places to a greeted connection: to the daemon that runs, or to one that is started.
//
// Invariant: only `hello` is ever sent twice. A daemon of an older contract is asked to retire only if a program is
// at hand that can take its place.

import { Connection } from "./connection.js";
import { type Environment, type Places, isOurs, prepare, sockets } from "./endpoint.js";
import { Lost, MuxError } from "./error.js";
import type { Hello } from "./messages.js";
import { contractOf, start } from "./spawn.js";
import { CONTRACT } from "./version.js";

const GREETING = 5_000;
/** How often a daemon may vanish between our start and our hello before we give up. */
const ATTEMPTS = 5;

/** Who connects, to what, and which program serves there. */
export interface Way {
  places: Places;
  hello: Hello;
  program: string;
  environment: Environment;
}

/** Connects to the daemon that runs, and to nothing else. */
export async function connectOnly(way: Way): Promise<Connection> {
  for (let attempt = 1; ; attempt++) {
    const found = await greet(way);
    if (found instanceof Connection) return found;
    // One that was lost ended at that moment; there may be another one.
    if (found === "absent" || attempt === ATTEMPTS) throw MuxError.of("unavailable", "no muxd is running");
  }
}

/** Connects to the daemon that runs, or starts one. */
export async function connectOrSpawn(way: Way): Promise<Connection> {
  await prepare(way.places);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const found = await greet(way);
    if (found instanceof Connection) {
      if (found.welcome.contract === CONTRACT) return found;
      await retire(found, way.program);
    }
    await start(way.places, way.program, way.environment);
  }
  throw MuxError.of("unavailable", "muxd did not start: it exited without a message; see `mux logs`");
}

async function greet(way: Way): Promise<Connection | "absent" | "lost"> {
  const connection = await dial(way.places);
  if (connection === undefined) return "absent";
  try {
    await connection.greet(way.hello, GREETING);
    return connection;
  } catch (error) {
    connection.close();
    if (error instanceof Lost) return "lost";
    if (!(error instanceof MuxError)) throw error;
    // It is ending: as good as none, and the next one has to wait for its lock.
    if (error.kind === "unavailable") return "absent";
    if (error.kind === "timeout") return "lost";
    throw error;
  }
}

/** A connection to the first of the sockets where somebody listens. */
async function dial(places: Places): Promise<Connection | undefined> {
  for (const socket of await sockets(places)) {
    try {
      if (!(await isOurs(places, socket))) continue;
      return await Connection.dial(socket);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? "";
      if (NOBODY.includes(code)) continue;
      throw error instanceof MuxError
        ? error
        : MuxError.of("unavailable", `cannot connect to ${socket}: ${(error as Error).message}`);
    }
  }
  return undefined;
}

/** What the system says where nobody listens, or where more wait than it lets wait. */
const NOBODY = ["ENOENT", "ECONNREFUSED", "EAGAIN"];

/** Has a daemon of an older contract make room for the program at hand. */
async function retire(connection: Connection, program: string): Promise<void> {
  const theirs = connection.welcome.contract;
  const ours = theirs < CONTRACT ? await contractOf(program) : undefined;
  try {
    if (ours === CONTRACT) {
      await connection.ask("retire", { reason: `a client needs contract ${CONTRACT}` }, { deadlineMs: GREETING });
      return;
    }
  } catch (error) {
    // It may be ending already; the one that is started waits for its lock.
    if (error instanceof MuxError) return;
    throw error;
  } finally {
    connection.close();
  }
  const fix = theirs > CONTRACT ? "update this client" : `update ${program}, or set MUX_DAEMON to a newer one`;
  throw MuxError.of("unavailable", `muxd speaks contract ${theirs} and this client ${CONTRACT}`, fix);
}
