// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly files: Mux.Files;
  readonly git: Mux.Git;
  readonly down: Mux.Down;
  readonly empty: Mux.Empty;
}

declare namespace Mux {
  /** The server `files`. */
  interface Files {
    /** Reads a file as text. */
    read_text(args: {
      path: string;
      /** Only the first N lines */
      head?: number;
      /** @default "utf-8" */
      encoding?: "utf-8" | "latin-1";
    }): Promise<ToolText>;
    /** Edit a file line by line. Returns a diff. @returns What was changed */
    edit(args: {
      path: string;
      /** @minItems 1 */
      edits: Array<{
        /** Must match exactly */
        old: string;
        new: string;
      }>;
      /** @default false */
      dryRun?: boolean;
    }): Promise<{ diff: string }>;
    media(args: { path: string }): Promise<{
      content: Array<
        | { type: "image" | "audio"; data: string; mimeType: string }
        | { type: "resource"; resource: { uri: string; blob: string } }
      >;
    }>;
    roots(args?: {}): Promise<ToolText>;
    quiet(args?: { [key: string]: never }): Promise<ToolText>;
    anything(args?: { [key: string]: unknown }): Promise<unknown>;
  }

  /** The server `git`. Note: restarted 2 times in the last minute */
  interface Git {
    /** Shows the log */
    log(args: {
      repo_path: string;
      /** @default 10 */
      max_count?: number;
      /** Oldest commit to show @default null @format date-time */
      since?: string | null;
    }): Promise<{ result: string[] }>;
  }

  /** The server `down`. Note: not connected: no answer within 10 s */
  interface Down {
    // Its tools are currently unknown; calls fail with the reason.
    readonly [tool: string]: AnyTool;
  }

  /** The server `empty`. */
  interface Empty {
    // It offers no tools.
  }
}

// Signatures:
// files.read_text(args: { path: string; head?: number; encoding?: "utf-8" | "latin-1" })
// files.edit(args: { path: string; edits: Array<{ old: string; new: string }>; dryRun?: boolean }): Promise<{ diff: string }>
// files.media(args: { path: string }): Promise<{ content: Array<…> }>
// files.roots()
// files.quiet()
// files.anything(args?: { [key: string]: unknown }): Promise<unknown>
// git.log(args: { repo_path: string; max_count?: number; since?: string | null /* ISO 8601 */ }): Promise<{ result: string[] }>

// Alone:
// /** Reads a file as text. */
// mux.files.read_text(args: {
//   path: string;
//   /** Only the first N lines */
//   head?: number;
//   /** @default "utf-8" */
//   encoding?: "utf-8" | "latin-1";
// });

// Alone:
// /** Edit a file line by line. Returns a diff. @returns What was changed */
// mux.files.edit(args: {
//   path: string;
//   /** @minItems 1 */
//   edits: Array<{
//     /** Must match exactly */
//     old: string;
//     new: string;
//   }>;
//   /** @default false */
//   dryRun?: boolean;
// }): Promise<{ diff: string }>;

// Alone:
// mux.files.media(args: { path: string }): Promise<{
//   content: Array<
//     | { type: "image" | "audio"; data: string; mimeType: string }
//     | { type: "resource"; resource: { uri: string; blob: string } }
//   >;
// }>;

// Alone:
// mux.files.roots();

// Alone:
// mux.files.quiet();

// Alone:
// mux.files.anything(args?: { [key: string]: unknown }): Promise<unknown>;

// Alone:
// /** Shows the log */
// mux.git.log(args: {
//   repo_path: string;
//   /** @default 10 */
//   max_count?: number;
//   /** Oldest commit to show @default null @format date-time */
//   since?: string | null;
// }): Promise<{ result: string[] }>;
