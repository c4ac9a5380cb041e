// Values that may be too long for a message.

/** A value, or where it is kept: `{"value": …}` or `{"stored": {"handle": …, …}}`. */
export type Held =
  | { value: unknown }
  | { stored: Handle };

/** A value that is kept by the daemon because it is too long to stand in a message. */
export interface Handle {
  /** Names the value by its content: the same value has the same handle. */
  handle: string;
  /** Length of its JSON text. */
  bytes: number;
  /** The first 500 characters of the JSON text; no JSON by themselves. */
  preview: string;
  /** Milliseconds from now until it is forgotten, if the space is not needed before. */
  expires_ms: number;
}

/** A part of a value that is kept. */
export interface ReadRequest {
  handle: string;
  /**
   * In bytes of the JSON text. Within a character it is moved back to where that begins; behind the end the
   * page is empty.
   */
  offset?: number;
  /**
   * In bytes; 256 KiB if absent. More than 4 MiB is the same as 4 MiB. A page ends with a whole character and
   * has one at least, unless 0 is asked for, which tells the total only.
   */
  length?: number;
}

export interface ReadPage {
  /** A piece of the JSON text. */
  text: string;
  /** Where the piece begins. */
  offset: number;
  /** Where the next page begins; absent at the end. */
  next?: number;
  /** Length of the whole in bytes. */
  total: number;
}
