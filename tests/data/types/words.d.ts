// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly words: Mux.Words;
}

declare namespace Mux {
  /** The server `words`. Note: a note may hold *\/ anything */
  interface Words {
    /**
     * The documented one! First line.
     *
     * Args:
     *     path: globs such as **\/*.ts
     *
     * Returns: nothing DELIBERATELY hidden here
     */
    documented(args?: {
      /** Which @format uuid @example "a" @example "b" @example "c" */
      id?: string;
      /** @pattern ^[a-z]*\/[a-z]*$ @minLength 1 @maxLength 64 */
      name?: string;
      /** @minimum 1 @default 20 */
      count?: number;
      /** @exclusiveMinimum 0 @exclusiveMaximum 1 @multipleOf 0.5 */
      ratio?: number;
      /** @deprecated */
      old?: string;
      /** @default {"deep":true,"note":"*\/"} */
      options?: { deep?: boolean };
      /** @encoding base64 @mediaType image/png */
      data?: string;
      /** Size in bytes */
      size?: number | null;
      plain_title?: string;
      /**
       * Two
       * lines *\/ of text
       * @default "x"
       */
      lines?: string;
    }): Promise<ToolText>;
    echo(args?: { [key: string]: unknown }): Promise<ToolText>;
    untitled(args?: { [key: string]: unknown }): Promise<ToolText>;
    /** Say it. Says it. */
    say(args?: { [key: string]: unknown }): Promise<ToolText>;
    /** Only a title */
    only(args?: { [key: string]: unknown }): Promise<ToolText>;
  }
}

// Signatures:
// words.documented(args?: { id?: string /* uuid */; name?: string /* ^[a-z]*\/[a-z]*$ */; count?: number; ratio?: number; old?: string; options?: { deep?: boolean }; data?: string; size?: number | null; lines?: string; … })
// words.echo(args?: { [key: string]: unknown })
// words.untitled(args?: { [key: string]: unknown })
// words.say(args?: { [key: string]: unknown })
// words.only(args?: { [key: string]: unknown })
