// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly inherited: Mux.Inherited;
}

declare namespace Mux {
  /** The server `inherited`. */
  interface Inherited {
    /** Members that every object has by inheritance: an optional one can only be anything. */
    toString(args: {
      /** Who builds it. */
      constructor?: any;
      valueOf?: any;
      toString: number;
    }): Promise<{ inner?: { hasOwnProperty?: any } }>;
    /** Result observed, not declared by the server. */
    observed(args?: { [key: string]: unknown }): Promise<Seen<{ constructor: string; toString?: any }>>;
  }
}

// Signatures:
// inherited.toString(args: { constructor?: any; valueOf?: any; toString: number }): Promise<{ inner?: { hasOwnProperty?: any } }>
// inherited.observed(args?: { [key: string]: unknown }): Promise</* observed */ { constructor: string; toString?: any }>
