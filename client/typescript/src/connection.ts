// One connection to a daemon: requests with their answers, whatever their order.
//
// Invariant: a request is sent at most once. Whoever waits when the connection ends is told whether it was sent.

import { type Socket, connect } from "node:net";

import { type Method, type Response, cancel, request, spelled } from "./envelope.js";
import { Lost, MuxError, cancelled } from "./error.js";
import { FrameReader, frame } from "./frames.js";
import type { Methods, Welcome } from "./messages.js";

/** What a request may be told beside its message. */
export interface Asking {
  /** The daemon gives up after so long, and so do we; 30 s if absent, 24 h at most. */
  deadlineMs?: number;
  /** Aborting it has the daemon stop working on the request. */
  signal?: AbortSignal | undefined;
  /** It does not keep the process alive. */
  background?: boolean;
}

const DEADLINE = 30_000;
/** The daemon closes connections that ask for more. */
export const LONGEST = 24 * 60 * 60 * 1000;

/** Somebody who waits for an answer. */
interface Waiting {
  method: Method;
  /** False if the system took not all of it: what is cut is no request. */
  sent: boolean;
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

export class Connection {
  readonly #socket: Socket;
  readonly #reader = new FrameReader();
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;
  /** Requests that keep the process alive. */
  #urgent = 0;
  #over: string | undefined;
  #welcome: Welcome | undefined;
  /** Resolves when it has ended, for whatever reason. */
  readonly closed: Promise<void>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (piece) => this.#read(piece));
    socket.on("error", (error) => this.#end(error.message));
    // The daemon closes both ways at once.
    socket.on("end", () => this.#end("the daemon closed it"));
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        this.#end("the daemon closed it");
        resolve();
      });
    });
    socket.unref();
  }

  /** Connects and says nothing. Rejects with the error of the system. */
  static dial(path: string): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        resolve(new Connection(socket));
      });
    });
  }

  get isOpen(): boolean {
    return this.#over === undefined;
  }

  /** What the daemon said to `hello`. */
  get welcome(): Welcome {
    if (this.#welcome === undefined) throw MuxError.of("internal", "`hello` comes first on every connection");
    return this.#welcome;
  }

  /** Says who we are. It comes before everything else. */
  async greet(hello: Methods["hello"]["params"]["hello"], deadlineMs: number): Promise<Welcome> {
    this.#welcome = await this.ask("hello", { hello }, { deadlineMs });
    return this.#welcome;
  }

  /** Sends one request and gives its answer, or throws the daemon's error. */
  ask<M extends Method>(method: M, params: Methods[M]["params"], asking: Asking = {}): Promise<Methods[M]["answer"]> {
    const { signal, background = false } = asking;
    const deadline = Math.min(asking.deadlineMs ?? DEADLINE, LONGEST);
    if (signal?.aborted) return Promise.reject(cancelled(`\`${method}\``));
    if (this.#over !== undefined) return Promise.reject(new Lost(false, this.#over));
    const id = this.#next++;
    let bytes: Buffer;
    try {
      bytes = frame(request(id, method, params, deadline));
    } catch (error) {
      if (error instanceof RangeError) return Promise.reject(tooLong(error));
      throw error;
    }
    return new Promise<Methods[M]["answer"]>((resolve, reject) => {
      if (!background && this.#urgent++ === 0) this.#socket.ref();
      const abort = () => give(cancelled(`\`${method}\``));
      // The daemon says nothing about a request whose time is over.
      const silent = MuxError.of("timeout", `muxd did not answer \`${method}\` in time`, "see `mux logs`");
      const timer = setTimeout(() => give(silent), deadline);
      timer.unref();
      const settled = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        this.#waiting.delete(id);
        if (!background && --this.#urgent === 0) this.#socket.unref();
      };
      const give = (error: MuxError) => {
        settled();
        if (this.isOpen) this.#socket.write(frame(cancel(id)));
        reject(error);
      };
      signal?.addEventListener("abort", abort, { once: true });
      const waiting: Waiting = {
        method,
        sent: true,
        resolve: (answer) => {
          settled();
          resolve(answer as Methods[M]["answer"]);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      };
      this.#waiting.set(id, waiting);
      this.#socket.write(bytes, (error) => {
        const code = (error as NodeJS.ErrnoException | null | undefined)?.code ?? "";
        if (NOT_TAKEN.includes(code)) waiting.sent = false;
      });
    });
  }

  /** Ends it, and with it the runs that it owns. */
  close(): void {
    this.#end("it was closed");
  }

  #read(piece: Buffer): void {
    try {
      for (const text of this.#reader.push(piece)) this.#answer(JSON.parse(text) as Response);
    } catch (error) {
      this.#end(error instanceof Error ? error.message : String(error));
    }
  }

  #answer(response: Response): void {
    const waiting = this.#waiting.get(response.request_id);
    // It was given up meanwhile.
    if (waiting === undefined) return;
    const message = response.message;
    if ("Err" in message) {
      const { kind, detail } = message.Err as { kind: number; detail: string };
      waiting.reject(MuxError.of(kind === WOULD_BLOCK ? "busy" : "internal", detail));
      return;
    }
    const answer = message.Ok[spelled(waiting.method)];
    if (answer === undefined) {
      waiting.reject(MuxError.of("internal", `muxd answered something else than \`${waiting.method}\``));
    } else if ("Err" in answer) {
      waiting.reject(new MuxError(answer.Err));
    } else {
      waiting.resolve(answer.Ok);
    }
  }

  #end(why: string): void {
    if (this.#over !== undefined) return;
    this.#over = why;
    this.#socket.destroy();
    for (const waiting of [...this.#waiting.values()]) waiting.reject(new Lost(waiting.sent, why));
  }
}

/** What the system says of bytes that it does not take. */
const NOT_TAKEN = ["EPIPE", "ECONNRESET"];

/** The number of `io::ErrorKind::WouldBlock` in tarpc: more requests are on their way than the daemon takes. */
const WOULD_BLOCK = 10;

function tooLong(error: RangeError): MuxError {
  return MuxError.of("limit", error.message, "let the program read large data with a tool");
}
