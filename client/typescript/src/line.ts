// The way to the daemon, opened when it is needed, and again after the daemon was restarted.
//
// Invariant: a request goes out once. Only one that a daemon refused because it was ending, one that was never sent,
// and one that only reads are asked of the next daemon.

import type { Asking, Connection } from "./connection.js";
import { type Way, connectOnly, connectOrSpawn } from "./connect.js";
import type { Method } from "./envelope.js";
import { Lost, MuxError, isEnding } from "./error.js";
import type { Methods } from "./messages.js";
import { FEATURES } from "./version.js";

/** How many daemons may be ending before the caller is told so. */
const REFUSALS = 3;

/** Methods that change nothing: whatever became of the first request, it can be made again. */
const READING: ReadonlySet<Method> = new Set<Method>([
  "status",
  "events",
  "check",
  "tools",
  "types",
  "servers",
  "runs",
  "run_info",
  "read",
  "watch_types",
  "search",
  "describe",
  "inventory",
  "offers",
  "pins",
  "projects",
  "explain_program",
  "list_secrets",
  "approvals",
  "policy",
  "explain_policy",
  "settings",
  "check_config",
  "metrics",
]);

export class Line {
  readonly #way: Way;
  readonly #opened: (connection: Connection) => Promise<void>;
  /** What the next request waits for, and the connection that it will be made on, once there is one. */
  #open: Promise<Connection> | undefined;
  #current: Connection | undefined;
  /** Every connection that has not ended: runs may live on one that takes no new work. */
  readonly #all = new Set<Connection>();
  #closed = false;

  /** `opened` is awaited on each new connection before anything else is asked there. */
  constructor(way: Way, opened: (connection: Connection) => Promise<void>) {
    this.#way = way;
    this.#opened = opened;
  }

  /** The connection for the next request. */
  open(): Promise<Connection> {
    return this.#through(connectOrSpawn);
  }

  /** The same, but no daemon is started for it. */
  async running(): Promise<Connection> {
    // Somebody else may be starting one at this moment, and may fail.
    await this.#open?.catch(() => undefined);
    return this.#through(connectOnly);
  }

  /** Asks the daemon that there is, or the next one if this one is ending. */
  ask<M extends Method>(method: M, params: Methods[M]["params"], asking?: Asking): Promise<Methods[M]["answer"]> {
    return this.with((connection) => askOn(connection, method, params, asking), { harmless: READING.has(method) });
  }

  /** Ends the daemon that runs, if there is one. What is asked afterwards is asked of the next one. */
  async stop(now: boolean): Promise<void> {
    const connection = await this.running();
    await askOn(connection, "stop", { request: { now } });
    this.#leave(connection);
  }

  /** Does something on a connection, and again on the next one where that is no harm. */
  async with<T>(
    question: (connection: Connection) => Promise<T>,
    { harmless = false, spawn = true }: { harmless?: boolean; spawn?: boolean } = {},
  ): Promise<T> {
    for (let refusals = 0; ; refusals++) {
      const connection = await (spawn ? this.open() : this.running());
      try {
        return await question(connection);
      } catch (error) {
        const again = isEnding(error) || (error instanceof Lost && (harmless || !error.sent));
        if (!again || refusals === REFUSALS) throw error;
        this.#leave(connection);
      }
    }
  }

  /** Another daemon has taken over from this one: what comes next is asked there, and whoever listens listens there. */
  async moveOn(connection: Connection): Promise<void> {
    this.#leave(connection);
    // The next request tries again.
    await this.running().catch(() => undefined);
  }

  close(): void {
    this.#closed = true;
    for (const connection of this.#all) connection.close();
  }

  #through(connect: (way: Way) => Promise<Connection>): Promise<Connection> {
    if (this.#closed) return Promise.reject(MuxError.of("unavailable", "this client was closed"));
    if (this.#current?.isOpen === false) this.#leave(this.#current);
    return (this.#open ??= this.#begin(connect(this.#way)));
  }

  #begin(connecting: Promise<Connection>): Promise<Connection> {
    const open = connecting.then(async (connection) => {
      this.#all.add(connection);
      void connection.closed.then(() => this.#all.delete(connection));
      if (this.#closed) connection.close();
      await this.#opened(connection);
      this.#current = connection;
      return connection;
    });
    // The next request tries again.
    open.catch(() => {
      if (this.#open === open) this.#open = undefined;
    });
    return open;
  }

  /** Its runs go on; new work goes to the next daemon. */
  #leave(connection: Connection): void {
    if (this.#current !== connection) return;
    this.#current = undefined;
    this.#open = undefined;
  }
}

/** Fails if the daemon does not know the method, which would end the connection. */
function require(connection: Connection, method: Method): void {
  const { features, pid, build } = connection.welcome;
  if (!FEATURES.includes(method) || features.includes(method)) return;
  throw MuxError.of("unavailable", `muxd ${pid} is build ${build} and does not know \`${method}\``, "run `mux restart`");
}

/** One request on this connection and no other. */
export async function askOn<M extends Method>(
  connection: Connection,
  method: M,
  params: Methods[M]["params"],
  asking?: Asking,
): Promise<Methods[M]["answer"]> {
  require(connection, method);
  return connection.ask(method, params, asking);
}
