// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly maps: Mux.Maps;
}

declare namespace Mux {
  /** The server `maps`. */
  interface Maps {
    /** Result observed, not declared by the server. */
    by_number(args?: { [key: string]: unknown }): Promise<Seen<{ [key: string]: Seen<{ age?: number; name: string }> }>>;
    /** Result observed, not declared by the server. */
    by_date(args?: { [key: string]: unknown }): Promise<Seen<{ [key: string]: number | null }>>;
    /** Result observed, not declared by the server. */
    by_uuid(args?: { [key: string]: unknown }): Promise<Seen<{ [key: string]: number[] }>>;
    /** Result observed, not declared by the server. */
    by_path(args?: { [key: string]: unknown }): Promise<Seen<{ [key: string]: Seen<{ lines: number }> }>>;
    /** Result observed, not declared by the server. */
    by_address(args?: { [key: string]: unknown }): Promise<Seen<{
      users: Seen<{ [key: string]: Seen<{ role: string }> }>;
    }>>;
    /** Result observed, not declared by the server. */
    by_host(args?: { [key: string]: unknown }): Promise<Seen<{ [key: string]: boolean }>>;
    /** Result observed, not declared by the server. */
    by_changing_names(args?: { [key: string]: unknown }): Promise<Seen<{ users: Seen<{ [key: string]: number }> }>>;
    /** Result observed, not declared by the server. */
    variants_are_no_map(args?: { [key: string]: unknown }): Promise<Seen<{
      alpha?: number;
      beta?: number;
      delta?: number;
      epsilon?: number;
      eta?: number;
      gamma?: number;
      iota?: number;
      kappa?: number;
      theta?: number;
      type: string;
      zeta?: number;
    }>>;
  }
}

// Signatures:
// maps.by_number(args?: { [key: string]: unknown }): Promise</* observed */ { [key: string]: { age?: number; name: string } }>
// maps.by_date(args?: { [key: string]: unknown }): Promise</* observed */ { [key: string]: number | null }>
// maps.by_uuid(args?: { [key: string]: unknown }): Promise</* observed */ { [key: string]: number[] }>
// maps.by_path(args?: { [key: string]: unknown }): Promise</* observed */ { [key: string]: { lines: number } }>
// maps.by_address(args?: { [key: string]: unknown }): Promise</* observed */ { users: { [key: string]: { role: string } } }>
// maps.by_host(args?: { [key: string]: unknown }): Promise</* observed */ { [key: string]: boolean }>
// maps.by_changing_names(args?: { [key: string]: unknown }): Promise</* observed */ { users: { [key: string]: number } }>
// maps.variants_are_no_map(args?: { [key: string]: unknown }): Promise</* observed */ { alpha?: number; beta?: number; delta?: number; epsilon?: number; eta?: number; gamma?: number; iota?: number; … }>
