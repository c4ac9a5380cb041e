// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly objects: Mux.Objects;
}

declare namespace Mux {
  /** The server `objects`. */
  interface Objects {
    maps(args?: {
      any?: { [key: string]: unknown };
      open?: { [key: string]: unknown };
      closed?: { [key: string]: never };
      blank?: {};
      labels?: { [key: string]: string };
      zod?: { [key: string]: unknown };
      nested?: { [key: string]: { [key: string]: number } };
      both?: {
        a: string;
        /** Weights (other members: number) */
        [key: string]: unknown;
      };
      more?: { a?: string; [key: string]: unknown };
      headers?: {
        /** @keyPattern ^x- */
        [key: string]: string;
      };
      mixed?: {
        /** @keyPattern ^n_ @keyPattern ^s_ */
        [key: string]: number | string | boolean;
      };
      unlisted?: { b: string; a: unknown };
      record?: {
        a: number;
        b: number;
        /** (other members: number) */
        [key: string]: unknown;
      };
      inside?: { a: string };
      guessed?: { a?: string };
      yes?: unknown;
      odd?: unknown;
      strange?: unknown;
    }): Promise<ToolText>;
    strict(args: { a: unknown }): Promise<{
      /** A value */
      [key: string]: string;
    }>;
    text(args?: { [key: string]: unknown }): Promise<never>;
    list(args: string[]): Promise<unknown>;
  }
}

// Signatures:
// objects.maps(args?: { any?: { [key: string]: unknown }; open?: { [key: string]: unknown }; closed?: { [key: string]: never }; blank?: {}; labels?: { [key: string]: string }; … })
// objects.strict(args: { a: unknown }): Promise<{ [key: string]: string }>
// objects.text(args?: { [key: string]: unknown }): Promise<never>
// objects.list(args: string[]): Promise<unknown>
