// A run from its start to its last event.
//
// Invariant: events come in order and without gaps, and the last one always comes, or it is told why it cannot.

import type { Connection } from "./connection.js";
import { Lost, MuxError, isEnding } from "./error.js";
import { type RunEvent, flat } from "./events.js";
import { stored } from "./held.js";
import { type Line, askOn } from "./line.js";
import type { EventPage, Outcome } from "./messages.js";

/** How long the daemon holds a poll before it answers with nothing. */
const POLL = 25_000;

export class Run implements AsyncIterable<RunEvent> {
  /** What `mux runs` calls it. */
  readonly id: string;
  readonly #line: Line;
  readonly #events: RunEvent[] = [];
  readonly #outcome: Promise<Outcome>;
  #over = false;
  #news: Promise<void>;
  #tell: () => void = () => undefined;

  /** Follows a run that was started on this connection, or on any. Aborting the signal stops the run. */
  constructor(line: Line, connection: Connection, id: string, signal?: AbortSignal) {
    this.id = id;
    this.#line = line;
    this.#news = this.#wait();
    const stop = () => void this.cancel().catch(() => undefined);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
    this.#outcome = this.#follow(connection).finally(() => {
      signal?.removeEventListener("abort", stop);
      this.#over = true;
      this.#tell();
    });
    // Whoever asks for the outcome is told; nobody has to ask.
    this.#outcome.catch(() => undefined);
  }

  /** All of its events from the first one on, as they happen. */
  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent, void> {
    for (let next = 0; ; next++) {
      while (next >= this.#events.length) {
        if (this.#over) {
          await this.#outcome;
          return;
        }
        await this.#news;
      }
      yield this.#events[next] as RunEvent;
    }
  }

  /** How it ended. A result that is too long for a message stays with the daemon. */
  outcome(): Promise<Outcome> {
    return this.#outcome;
  }

  /** What the program returned, however long that is. Throws its error if it failed. */
  async result(): Promise<unknown> {
    const outcome = await this.#outcome;
    if ("error" in outcome) throw new MuxError(outcome.error);
    return "stored" in outcome ? stored(this.#line, outcome.stored) : outcome.result;
  }

  /** Stops it, and the calls that it has on their way. Its last event says so. */
  async cancel(): Promise<void> {
    await this.#line.ask("cancel_run", { run: this.id });
  }

  async #follow(connection: Connection): Promise<Outcome> {
    for (let after = 0; ; ) {
      const page = await this.#page(connection, after);
      for (const event of page.events) {
        after = event.seq;
        this.#events.push(flat(event));
        this.#tell();
        if ("ended" in event.event) return event.event.ended.outcome;
      }
    }
  }

  /** The next events: from the daemon that runs it, or from another connection to that. */
  async #page(connection: Connection, after: number): Promise<EventPage> {
    const request = { run: this.id, after, wait_ms: POLL };
    try {
      return await askOn(connection, "events", { request }, { deadlineMs: 2 * POLL });
    } catch (error) {
      if (!(error instanceof Lost) && !isEnding(error)) throw error;
    }
    // The run has ended with its connection, unless it is detached. Its daemon may still tell how.
    try {
      return await askOn(await this.#line.running(), "events", { request }, { deadlineMs: 2 * POLL });
    } catch (error) {
      if (!(error instanceof MuxError)) throw error;
      throw new Lost(true, `the daemon of run ${this.id} is gone`);
    }
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#tell = () => {
        this.#news = this.#wait();
        resolve();
      };
    });
  }
}
