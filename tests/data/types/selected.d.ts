// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly selected: Mux.Selected_;
}

declare namespace Mux {
  /** The server `selected`. */
  interface Selected_ {
    /** A result that an argument changes. */
    user<S extends Selection = never>(args: {
      id: string;
      /** What comes back. */
      $select?: S;
    }): Promise<Selected<S, { id: string; role: "ADMIN" | "READER"; was: "ADMIN" | "READER" } | null>>;
    /** Alternatives. */
    found<S extends Selection = never>(args?: {
      /** What comes back. */
      $select?: S;
    }): Promise<Selected<S, Array<
      | {
          __typename: "A";
          /** So that it takes a line of its own. */
          title: string;
        }
      | { __typename: "B"; size: number }
    >>>;
    /** The argument is not there. */
    lost(args?: { id?: string }): Promise<unknown>;
    /** An argument that is needed is always given. */
    needed(args: {
      /** What comes back. */
      $select: string | { [key: string]: unknown };
    }): Promise<unknown>;
    /** Nothing that names an argument. */
    odd(args?: {
      /** What comes back. */
      $select?: string | { [key: string]: unknown };
    }): Promise<unknown>;
  }
}

// Signatures:
// selected.user(args: { id: string; $select?: Selection }): Promise<{ id: string; role: "ADMIN" | "READER"; was: "ADMIN" | "READER" } | null>
// selected.found(args?: { $select?: Selection }): Promise<Array<{ __typename: "A"; title: string } | { __typename: "B"; size: number }>>
// selected.lost(args?: { id?: string }): Promise<unknown>
// selected.needed(args: { $select: string | { [key: string]: unknown } }): Promise<unknown>
// selected.odd(args?: { $select?: string | { [key: string]: unknown } }): Promise<unknown>
