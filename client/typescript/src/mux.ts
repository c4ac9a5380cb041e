// The client: one object with a method for each thing that a program wants of muxd.

import { type Approver, listen } from "./approver.js";
import { LONGEST } from "./connection.js";
import { type Environment, places } from "./endpoint.js";
import type { Method } from "./envelope.js";
import { cancelled } from "./error.js";
import { pages, whole } from "./held.js";
import { Line, askOn } from "./line.js";
import type * as wire from "./messages.js";
import { Run } from "./run.js";
import { CONTRACT, FEATURES, VERSION } from "./version.js";
import { type Watching, watchApprovals, watchTypes } from "./watch.js";

/** Who connects, and where. */
export interface MuxOptions {
  /** What this program calls itself; it stands in lists of runs and of approvals. */
  name: string;
  version: string;
  /** Whose rules and tools: an entry of `[agents]` in the configuration. */
  agent?: string;
  /** The directory in which its user works. */
  workspace?: string;
  /** What `MUX_HOME` would say: one directory for everything. */
  home?: string;
  /** The `muxd` program; `MUX_DAEMON`, or the one on the search path, if absent. */
  daemon?: string;
  /** Asks somebody here when a call of this client has to be approved. */
  approver?: Approver;
  /** `process.env` if absent. */
  environment?: Environment;
}

export interface RunOptions {
  /** What lists of runs call it, such as the name of its file. */
  name?: string;
  /** `mux.input`. */
  input?: unknown;
  /** Wall time, 1,000 to 300,000 ms. */
  timeoutMs?: number;
  /** A program of steps, written in JSON, has the language `json`. */
  language?: wire.Language;
  /** Its types are not looked at. */
  noCheck?: boolean;
  /** It does not end with this client. */
  detach?: boolean;
  /** W3C trace context of the caller. */
  traceparent?: string;
  tracestate?: string;
  /** Aborting it stops the run, and the calls that it has on their way. */
  signal?: AbortSignal | undefined;
}

export interface CallOptions {
  timeoutMs?: number;
  /** W3C trace context of the caller. */
  traceparent?: string;
  tracestate?: string;
  /** Aborting it cancels the call at its server. */
  signal?: AbortSignal | undefined;
}

export interface Stoppable {
  /** Aborting it makes the request end with `cancelled`. */
  signal?: AbortSignal | undefined;
}

/** Servers that were never connected are started for a list of tools, and some of them take their time. */
const STARTS = 150_000;
/** Longer than all limits of two daemons that change over. */
const UPGRADE = 120_000;

export class Mux {
  readonly #line: Line;

  constructor(options: MuxOptions) {
    const environment = options.environment ?? process.env;
    const { name, version, agent, workspace, approver } = options;
    const hello: wire.Hello = {
      contract: CONTRACT,
      build: VERSION,
      client: { name, version },
      ...(agent === undefined ? {} : { agent }),
      ...(workspace === undefined ? {} : { workspace }),
      features: [...FEATURES],
    };
    const way = {
      places: places(options.home, environment, process.platform),
      hello,
      program: options.daemon ?? (environment["MUX_DAEMON"] || "muxd"),
      environment,
    };
    this.#line = new Line(way, async (connection) => {
      if (approver !== undefined) await listen(connection, approver, () => void this.#line.moveOn(connection));
    });
  }

  /** Starts a program. What happens in it is iterated, and `result()` waits for its end. */
  run(source: string, options: RunOptions = {}): Promise<Run> {
    const { name, input = null, timeoutMs, language, noCheck, detach, traceparent, tracestate, signal } = options;
    if (signal?.aborted) return Promise.reject(cancelled("the run"));
    const request: wire.RunRequest = {
      source,
      ...(name === undefined ? {} : { name }),
      input,
      ...(language === undefined ? {} : { language }),
      ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
      ...(traceparent === undefined ? {} : { traceparent }),
      ...(tracestate === undefined ? {} : { tracestate }),
      ...(detach ? { detach } : {}),
      ...(noCheck ? { no_check: true } : {}),
    };
    return this.#line.with(async (connection) => {
      const { run } = await askOn(connection, "start_run", { request });
      return new Run(this.#line, connection, run, signal);
    });
  }

  /** Follows a run that anybody started, from its first event on. Ending this client does not end it. */
  async watch(run: string): Promise<Run> {
    return this.#line.with(async (connection) => {
      const { run: id } = await askOn(connection, "run_info", { run });
      return new Run(this.#line, connection, id);
    }, { harmless: true });
  }

  /** Checks a program without running it. */
  check(source: string, { signal }: Stoppable = {}): Promise<wire.Diagnostics> {
    return this.ask("check", { request: { source } }, { signal });
  }

  /** Calls one tool and gives its value, however long that is. */
  async call(path: string, args: object = {}, options: CallOptions = {}): Promise<unknown> {
    return this.#call({ path, arguments: args }, options);
  }

  /** The same, but the whole `CallToolResult` of MCP. */
  async callRaw(path: string, args: object = {}, options: CallOptions = {}): Promise<unknown> {
    return this.#call({ path, arguments: args, raw: true }, options);
  }

  /** The tools of all servers, or those that match. */
  tools(request: wire.ToolsRequest = {}, { signal }: Stoppable = {}): Promise<wire.ToolList> {
    return this.ask("tools", { request }, { signal, deadlineMs: STARTS });
  }

  /** Tools ranked by how well they fit a few words. */
  search(query: string, options: Omit<wire.SearchRequest, "query"> & Stoppable = {}): Promise<wire.SearchPage> {
    const { signal, ...rest } = options;
    return this.ask("search", { request: { query, ...rest } }, { signal });
  }

  /** The complete descriptions of a few tools. */
  describe(paths: string[], { schemas = false, signal }: { schemas?: boolean } & Stoppable = {}): Promise<wire.Descriptions> {
    const request = { paths, ...(schemas ? { schemas } : {}) };
    return this.ask("describe", { request }, { signal, deadlineMs: STARTS });
  }

  /** The `.d.ts` that a program is written against: of `server` or `server.tool`, or of everything. */
  types(paths: string[] = [], { signal }: Stoppable = {}): Promise<string> {
    return this.ask("types", { request: { paths } }, { signal, deadlineMs: STARTS });
  }

  /** The declarations of everything, now and whenever they are others, over restarts of the daemon. */
  watchTypes(watching: Watching = {}): AsyncGenerator<{ name: string; text: string }, void> {
    return watchTypes(this.#line, watching);
  }

  servers(): Promise<wire.ServerInfo[]> {
    return this.ask("servers", {});
  }

  /** Closes a server's sessions and starts it anew. */
  restartServer(server: string): Promise<wire.ServerInfo> {
    return this.ask("restart_server", { server }, { deadlineMs: STARTS });
  }

  /** Calls that wait for approval. */
  async approvals(): Promise<wire.ApprovalInfo[]> {
    return (await this.ask("approvals", { request: {} })).approvals;
  }

  /** One of them, with all of its arguments. */
  async approval(approval: string): Promise<wire.ApprovalInfo | undefined> {
    return (await this.ask("approvals", { request: { approval } })).approvals[0];
  }

  /** The calls that wait, now and whenever they are others, over restarts of the daemon. */
  watchApprovals(watching: Watching = {}): AsyncGenerator<wire.ApprovalInfo[], void> {
    return watchApprovals(this.#line, watching);
  }

  /** Lets a call be made: this one, those of this tool until its client goes, or until it is revoked. */
  approve(approval: string, decision: Exclude<wire.Decision, "deny"> = "once"): Promise<wire.Decided> {
    return this.ask("decide", { request: { approval, decision } });
  }

  /** Refuses it. The reason is for the program. */
  deny(approval: string, reason?: string): Promise<wire.Decided> {
    const request = { approval, decision: "deny" as const, ...(reason === undefined ? {} : { reason }) };
    return this.ask("decide", { request });
  }

  /** Goes on with a run that ended as `pending`, by its id or by that of the approval. */
  resume(id: string, { signal }: Stoppable = {}): Promise<Run> {
    return this.#line.with(async (connection) => {
      const { run } = await askOn(connection, "resume_run", { request: { id } });
      return new Run(this.#line, connection, run, signal);
    });
  }

  /** The runs that have not ended, and ended ones that are kept. */
  runs(request: wire.RunsRequest = {}): Promise<wire.RunList> {
    return this.ask("runs", { request });
  }

  /** How the daemon is. None is started for it: without one it throws `unavailable`. */
  async status(): Promise<wire.Status> {
    return askOn(await this.#line.running(), "status", {});
  }

  /** Drains and ends the daemon; with `now` it cancels what runs. The next request starts the next one. */
  stop({ now = false }: { now?: boolean } = {}): Promise<void> {
    return this.#line.stop(now);
  }

  /**
   * Has another program take over from the daemon that runs, without a gap: `binary` is the absolute path of a `muxd`.
   * If it cannot serve, nothing has changed. Linux only.
   */
  async upgrade(binary: string): Promise<wire.Upgraded> {
    const request = { binary, contract: CONTRACT };
    return askOn(await this.#line.running(), "upgrade", { request }, { deadlineMs: UPGRADE });
  }

  /** A value that stands in a message, or is kept because it is too long for one. */
  value(held: wire.Held, { signal }: Stoppable = {}): Promise<unknown> {
    return whole(this.#line, held, signal);
  }

  /** The JSON text of a value that is kept, a page at a time. */
  pages(handle: string, { signal }: Stoppable = {}): AsyncGenerator<string, void> {
    return pages(this.#line, handle, signal);
  }

  /** Any method of the contract, as `PROTOCOL.md` has it. */
  ask<M extends Method>(
    method: M,
    params: wire.Methods[M]["params"],
    asking: Stoppable & { deadlineMs?: number } = {},
  ): Promise<wire.Methods[M]["answer"]> {
    return this.#line.ask(method, params, asking);
  }

  /** Ends all connections, and with them the runs that are not detached. */
  close(): void {
    this.#line.close();
  }

  async #call(request: wire.CallRequest, options: CallOptions): Promise<unknown> {
    const { timeoutMs, traceparent, tracestate, signal } = options;
    if (timeoutMs !== undefined) request.timeout_ms = timeoutMs;
    if (traceparent !== undefined) request.traceparent = traceparent;
    if (tracestate !== undefined) request.tracestate = tracestate;
    // The daemon has limits of its own for a call, and its errors name them.
    const { result } = await this.ask("call", { request }, { signal, deadlineMs: LONGEST });
    return whole(this.#line, result, signal);
  }
}
