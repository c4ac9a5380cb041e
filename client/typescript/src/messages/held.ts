// Values that may be too long for a message.

/** A value, or its handle: `{"value": …}` or `{"stored": {"handle": …, …}}`. */
export type Held =
  | { value: unknown }
  | { stored: Handle };

/** A value that the daemon has stored because it is too long for a message. */
export interface Handle {
  /** Identifies the value by its content: equal values have the same handle. */
  handle: string;
  /** The length of the JSON text, in bytes. */
  bytes: number;
  /** The first 500 characters of the JSON text; not valid JSON by themselves. */
  preview: string;
  /** Milliseconds from now until the value expires, unless the space is needed before. */
  expires_ms: number;
}

/** Requests a page of a stored value. */
export interface ReadRequest {
  handle: string;
  /**
   * The offset in the JSON text, in bytes. If it is within a character, it is moved back to the character's start;
   * beyond the end, the page is empty.
   */
  offset?: number;
  /**
   * The length in bytes; 256 KiB if absent, 4 MiB at most. A page ends with a whole character and has at least one,
   * unless 0 is requested, which returns the total only.
   */
  length?: number;
}

export interface ReadPage {
  /** A page of the JSON text. */
  text: string;
  /** The offset of the page, in bytes. */
  offset: number;
  /** The offset of the next page; absent at the end. */
  next?: number;
  /** The length of the whole JSON text, in bytes. */
  total: number;
}
