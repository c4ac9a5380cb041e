// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly unions: Mux.Unions;
}

declare namespace Mux {
  /** The server `unions`. */
  interface Unions {
    plain(args?: {
      level?: "debug" | "info" | "error";
      code?: 1 | 2.5 | -3 | true | null | "x" | { a: [1] };
      fixed?: "only";
      nothing?: null;
      flag?: boolean | string;
      maybe?: string | null;
      openapi?: string | null;
      openapiEnum?: "a" | null;
      /** @default null @minimum 0 */
      pydantic?: number | null;
      id?: string | number;
      tags?: string[] | string;
      list?: Array<string | number>;
      same?: string;
      open?: unknown;
      impossible?: never;
      zone?:
        | "Africa/Abidjan" | "Africa/Accra" | "Africa/Algiers" | "America/Bogota"
        | "America/Chicago" | "Asia/Tokyo" | "Europe/Berlin" | "Europe/London" | "Pacific/Auckland";
    }): Promise<ToolText>;
    titled(args: {
      color:
        /** Red */
        | "r"
        | "green"
        /** The colour of the sky */
        | "b";
    }): Promise<ToolText>;
    tagged(args: {
      /** What to draw */
      shape:
        /** Circle */
        | {
            kind: "circle";
            /** @exclusiveMinimum 0 */
            radius: number;
          }
        | { kind: "square"; side: number }
        | null;
    }): Promise<ToolText>;
    /** Alternatives at the root: one of them needs nothing */
    either(args?: { id: string } | { query?: string }): Promise<ToolText>;
    /** Alternatives that only require say nothing that a type needs */
    requires(args?: { a?: string; b?: string }): Promise<ToolText>;
  }
}

// Signatures:
// unions.plain(args?: { level?: "debug" | "info" | "error"; code?: 1 | 2.5 | -3 | true | null | "x" | { a: [1] }; fixed?: "only"; nothing?: null; flag?: boolean | string; same?: string; … })
// unions.titled(args: { color: "r" | "green" | "b" })
// unions.tagged(args: { shape: { kind: "circle"; radius: number } | { kind: "square"; side: number } | null })
// unions.either(args?: { id: string } | { query?: string })
// unions.requires(args?: { a?: string; b?: string })
