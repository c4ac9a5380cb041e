// Values that may be too long for a message: read page by page, and put together.

import { MuxError } from "./error.js";
import type { Line } from "./line.js";
import type { Handle, Held, ReadPage } from "./messages.js";

/** The most that one page has. */
const PAGE = 4 * 1024 * 1024;

/** The value, wherever it is. */
export async function whole(line: Line, held: Held, signal?: AbortSignal): Promise<unknown> {
  return "value" in held ? held.value : stored(line, held.stored, signal);
}

/** A value that the daemon keeps. */
export async function stored(line: Line, handle: Handle, signal?: AbortSignal): Promise<unknown> {
  let text = "";
  for await (const piece of pages(line, handle.handle, signal)) text += piece;
  return JSON.parse(text);
}

/** Its JSON text, a page at a time, so that a value of any length takes the memory of one page. */
export async function* pages(line: Line, handle: string, signal?: AbortSignal): AsyncGenerator<string, void> {
  let offset: number | undefined = 0;
  while (offset !== undefined) {
    const page: ReadPage = await line.ask("read", { request: { handle, offset, length: PAGE } }, { signal });
    if (page.next !== undefined && page.next <= offset) {
      throw MuxError.of("internal", `the page at ${offset} of ${handle} does not advance`);
    }
    yield page.text;
    offset = page.next;
  }
}
