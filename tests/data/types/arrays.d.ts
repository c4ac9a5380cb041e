// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly arrays: Mux.Arrays;
}

declare namespace Mux {
  /** The server `arrays`. */
  interface Arrays {
    all(args?: {
      untyped?: unknown[];
      guessed?: boolean[];
      grid?: number[][];
      /** @minItems 1 @maxItems 9 @uniqueItems @items One address @format uri */
      unique?: string[];
      /** @minItems 2 @maxItems 2 */
      pair?: [number, number];
      /** @minItems 1 */
      draft7?: [string, (number | null)?];
      rest?: [string, ...(number | null)[]];
      restDraft7?: [string, ...number[]];
      closed?: [string];
      /** @minItems 1 */
      wide?: [
        {
          /** Who */
          name?: string;
        },
        (
          /** By name */
          | string
          | string[])?,
        ...{ x?: number }[],
      ];
      /** @items A row */
      rows?: Array<{ cells: Array<"a" | "b"> }>;
    }): Promise<ToolText>;
  }
}

// Signatures:
// arrays.all(args?: { untyped?: unknown[]; guessed?: boolean[]; grid?: number[][]; unique?: string[] /* uri */; pair?: [number, number]; draft7?: [string, (number | null)?]; closed?: [string]; … })
