// Follows what changes for as long as the editor is open, over times without a daemon.
//
// Invariant: to look on starts no daemon, so that `mux stop` is not undone by an open editor.

import { MuxError } from "@muxd/client";

/** How long to wait until a daemon may have been started by somebody. */
const AGAIN = 3_000;

/** Hands over each item, and `undefined` when there is no daemon, until the signal is aborted. */
export async function follow<T>(
  watch: (signal: AbortSignal) => AsyncIterable<T>,
  show: (item: T | undefined) => void | Promise<void>,
  signal: AbortSignal,
  again: number = AGAIN,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const item of watch(signal)) await show(item);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof MuxError)) throw error;
      await show(undefined);
    }
    await pause(again, signal);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(done, ms);
    timer.unref();
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
}
