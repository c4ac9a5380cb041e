// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly contentBlock: Mux.ContentBlock_;
  readonly Seen: Mux.Seen_;
}

declare namespace Mux {
  /** The server `contentBlock`. */
  interface ContentBlock_ {
    /** Result observed, not declared by the server. */
    image(args?: { [key: string]: unknown }): Promise<Seen<ContentBlock>>;
    /** Result observed, not declared by the server. */
    parts(args?: { [key: string]: unknown }): Promise<Seen<ContentBlock[]>>;
    /** Result observed, not declared by the server. */
    text_or_part(args?: { [key: string]: unknown }): Promise<Seen<string> | Seen<ContentBlock>>;
    /** Result observed, not declared by the server. */
    parts_and_others(args?: { [key: string]: unknown }): Promise<Seen<any[]>>;
    /** Result observed, not declared by the server. */
    no_parts(args?: { [key: string]: unknown }): Promise<Array<Seen<{
      text?: Seen<{ content: string }>;
      type: string;
      url?: string;
    }>>>;
  }

  /** The server `Seen`. */
  interface Seen_ {
    /** Result observed, not declared by the server. */
    a(args?: { [key: string]: unknown }): Promise<Seen<{ b: number }>>;
  }
}

// Signatures:
// contentBlock.image(args?: { [key: string]: unknown }): Promise</* observed */ ContentBlock>
// contentBlock.parts(args?: { [key: string]: unknown }): Promise</* observed */ ContentBlock[]>
// contentBlock.text_or_part(args?: { [key: string]: unknown }): Promise</* observed */ string | ContentBlock>
// contentBlock.parts_and_others(args?: { [key: string]: unknown }): Promise</* observed */ any[]>
// contentBlock.no_parts(args?: { [key: string]: unknown }): Promise</* observed */ Array<{ text?: { content: string }; type: string; url?: string }>>
// Seen.a(args?: { [key: string]: unknown }): Promise</* observed */ { b: number }>
