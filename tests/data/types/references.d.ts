// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly refs: Mux.Refs;
}

declare namespace Mux {
  /** The server `refs`. */
  interface Refs {
    convert(args: {
      /** Where to */
      to: string;
    }): Promise<{
      source: Mux.Refs.convert_Moment;
      target: Mux.Refs.convert_Moment;
      /** Mentioned once, so written in place */
      zone?: { name?: string };
    }>;
    tree(args: {
      root: Mux.Refs.tree_Node;
      mode?: "fast" | "safe";
      other?: "fast" | "safe";
    }): Promise<{ node?: Mux.Refs.tree_Node_2 }>;
    root(args?: Mux.Refs.root_Args): Promise<ToolText>;
    mutual(args?: { a?: Mux.Refs.mutual_A }): Promise<ToolText>;
    rude(args?: {
      remote?: unknown /* `https://example.com/schema.json#/a` refers to another document, which is not fetched */;
      relative?: unknown /* `other.json` refers to another document, which is not fetched */;
      missing?: unknown /* `#/$defs/Nowhere` refers to nothing and is ignored */;
      anchor?: unknown /* `#anchor` refers to nothing and is ignored */;
      itself?: unknown /* `#/$defs/Loop` has no fixed target and is ignored */;
      ring?: unknown /* `#/$defs/Ring` has no fixed target and is ignored */;
      escaped?: Mux.Refs.rude_a_b_c;
      path?: { x?: number };
      list?: Array<{ x?: number }>;
      /** Words beside a reference */
      beside?: { y?: number } | null;
    }): Promise<ToolText>;
  }

  namespace Refs {
    /** A point in time */
    type convert_Moment = {
      /** @format date-time */
      at: string;
      dst: boolean;
    };
    type tree_Node = { name: string; children?: Mux.Refs.tree_Node[] };
    type tree_Node_2 = string | Mux.Refs.tree_Node_2[];
    /** A filter, which may hold filters */
    type root_Args = { not?: Mux.Refs.root_Args; all?: Mux.Refs.root_Args[]; key?: string };
    type mutual_A = { b?: Mux.Refs.mutual_B };
    type mutual_B = { a?: Mux.Refs.mutual_A | null };
    type rude_a_b_c = { again?: Mux.Refs.rude_a_b_c };
  }
}

// Signatures:
// refs.convert(args: { to: string }): Promise<{ source: Moment; target: Moment; zone?: { name?: string } }>
// refs.tree(args: { root: Node; mode?: "fast" | "safe"; other?: "fast" | "safe" }): Promise<{ node?: Node }>
// refs.root(args?: { not?: Args; all?: Args[]; key?: string })
// refs.mutual(args?: { a?: A })
// refs.rude(args?: { remote?: unknown; relative?: unknown; missing?: unknown; anchor?: unknown; itself?: unknown; ring?: unknown; escaped?: a/b c; path?: { x?: number }; … })

// Alone:
// mux.refs.convert(args: {
//   /** Where to */
//   to: string;
// }): Promise<{
//   source: Mux.Refs.convert_Moment;
//   target: Mux.Refs.convert_Moment;
//   /** Mentioned once, so written in place */
//   zone?: { name?: string };
// }>;
//
// declare namespace Mux.Refs {
//   /** A point in time */
//   type convert_Moment = {
//     /** @format date-time */
//     at: string;
//     dst: boolean;
//   };
// }

// Alone:
// mux.refs.tree(args: {
//   root: Mux.Refs.tree_Node;
//   mode?: "fast" | "safe";
//   other?: "fast" | "safe";
// }): Promise<{ node?: Mux.Refs.tree_Node_2 }>;
//
// declare namespace Mux.Refs {
//   type tree_Node = { name: string; children?: Mux.Refs.tree_Node[] };
//   type tree_Node_2 = string | Mux.Refs.tree_Node_2[];
// }

// Alone:
// mux.refs.root(args?: Mux.Refs.root_Args);
//
// declare namespace Mux.Refs {
//   /** A filter, which may hold filters */
//   type root_Args = { not?: Mux.Refs.root_Args; all?: Mux.Refs.root_Args[]; key?: string };
// }

// Alone:
// mux.refs.mutual(args?: { a?: Mux.Refs.mutual_A });
//
// declare namespace Mux.Refs {
//   type mutual_A = { b?: Mux.Refs.mutual_B };
//   type mutual_B = { a?: Mux.Refs.mutual_A | null };
// }

// Alone:
// mux.refs.rude(args?: {
//   remote?: unknown /* `https://example.com/schema.json#/a` refers to another document, which is not fetched */;
//   relative?: unknown /* `other.json` refers to another document, which is not fetched */;
//   missing?: unknown /* `#/$defs/Nowhere` refers to nothing and is ignored */;
//   anchor?: unknown /* `#anchor` refers to nothing and is ignored */;
//   itself?: unknown /* `#/$defs/Loop` has no fixed target and is ignored */;
//   ring?: unknown /* `#/$defs/Ring` has no fixed target and is ignored */;
//   escaped?: Mux.Refs.rude_a_b_c;
//   path?: { x?: number };
//   list?: Array<{ x?: number }>;
//   /** Words beside a reference */
//   beside?: { y?: number } | null;
// });
//
// declare namespace Mux.Refs {
//   type rude_a_b_c = { again?: Mux.Refs.rude_a_b_c };
// }
