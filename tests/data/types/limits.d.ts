// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly limits: Mux.Limits;
}

declare namespace Mux {
  /** The server `limits`. */
  interface Limits {
    /** Seventy arrays in each other. */
    deep(args?: {
      deep?: Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<Array<unknown /* nested deeper than 64 levels */>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>;
    }): Promise<ToolText>;
    /** A few words in the schema are 70 KiB of types, because a short definition is written where it is mentioned. */
    long_arguments(args?: { [key: string]: unknown } /* the schema takes more than 64 KiB */): Promise<{
      kept?: string;
    }>;
    /** The longer one of the two gives way. */
    long_result(args?: { kept?: string }): Promise<unknown /* the schema takes more than 64 KiB */>;
  }
}

// Signatures:
// limits.deep(args?: { deep?: Array<…> })
// limits.long_arguments(args: { p0: …; p1?: …; p2?: …; p3?: …; p4?: …; p5?: …; p6?: …; p7?: …; p8?: …; p9?: …; p10?: …; p11?: …; p12?: …; p13?: …; p14?: …; … }): Promise<{ kept?: string }>
// limits.long_result(args?: { kept?: string }): Promise<{ p0?: …; p1?: …; p2?: …; p3?: …; p4?: …; p5?: …; p6?: …; p7?: …; p8?: …; p9?: …; p10?: …; p11?: …; … }>
