// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly both: Mux.Both;
}

declare namespace Mux {
  /** The server `both`. */
  interface Both {
    merged(args: {
      a?: string;
      /** From the first @minimum 0 */
      b: number;
      c?: boolean;
    }): Promise<ToolText>;
    extended(args: {
      /** @maximum 100 */
      limit?: number;
      cursor?: string;
      query: string;
    }): Promise<{
      /** The best one */
      first: Mux.Both.extended_Item;
      rest?: Array<Mux.Both.extended_Item & { rank?: number }>;
    }>;
    renamed(args?: {
      one?: Mux.Both.renamed_Renamed & { x?: number };
      two?: Mux.Both.renamed_Renamed & { y?: number };
      short?: string | number;
    }): Promise<ToolText>;
    base_and_choice(args: { channel: string } & (
      | { text: string }
      | { blocks: Array<{ [key: string]: unknown }> })): Promise<ToolText>;
    narrowed(args?: {
      mode?: "a" | "b";
      when?: string;
      list?: string[];
      never?: never;
      odd?: string & number;
    }): Promise<ToolText>;
  }

  namespace Both {
    type extended_Item = { id: string };
    type renamed_Renamed = { id: string | number };
  }
}

// Signatures:
// both.merged(args: { a?: string; b: number; c?: boolean })
// both.extended(args: { limit?: number; cursor?: string; query: string }): Promise<{ first: Item; rest?: Array<Item & { rank?: number }> }>
// both.renamed(args?: { one?: Renamed & { x?: number }; two?: Renamed & { y?: number }; short?: string | number })
// both.base_and_choice(args: { channel: string } & ({ text: string } | { blocks: Array<{ [key: string]: unknown }> }))
// both.narrowed(args?: { mode?: "a" | "b"; when?: string; list?: string[]; never?: never; odd?: string & number })
