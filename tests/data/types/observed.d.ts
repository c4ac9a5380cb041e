// mux.d.ts: the API of programs. Generated from the servers' own descriptions.

/** Every server by its name, every tool an async function. A failed call throws a `ToolError`. */
declare const mux: Mux;

interface Mux {
  readonly seen: Mux.Seen_;
}

declare namespace Mux {
  /** The server `seen`. */
  interface Seen_ {
    /**
     * One record, whose fields come and go.
     * Result observed in 3 calls; the server declares none.
     */
    record(args: { id: number }): Promise<Seen<{
      closed_at: any;
      draft?: boolean;
      id: string | number;
      name: string | null;
      owner: Seen<{ login: string; "site-url"?: string }> | null;
      tags: Array<string | number>;
    }>>;
    /** Result observed in 1 call; the server declares none. */
    list(args?: { [key: string]: unknown }): Promise<Array<Seen<{ id: number; labels?: any[]; title?: string }>>>;
    /** Result observed, not declared by the server. */
    empty_list(args?: { [key: string]: unknown }): Promise<Seen<any[]>>;
    /** Result observed, not declared by the server. */
    empty_object(args?: { [key: string]: unknown }): Promise<Seen<{ [key: string]: any }>>;
    /** Result observed, not declared by the server. */
    text(args?: { [key: string]: unknown }): Promise<Seen<string>>;
    /** Result observed, not declared by the server. */
    text_or_list(args?: { [key: string]: unknown }): Promise<Seen<string> | Array<Seen<{ a: number }>> | null>;
    /** Result observed, not declared by the server. */
    words(args?: { [key: string]: unknown }): Promise<Seen<string[]>>;
    nothing(args?: { [key: string]: unknown }): Promise<ToolText>;
    never_called(args?: { [key: string]: unknown }): Promise<ToolText>;
    /** What the server says counts. */
    declared(args?: { [key: string]: unknown }): Promise<{ a?: string }>;
    /**
     * Too long for one line.
     * Result observed, not declared by the server.
     */
    long(args?: { [key: string]: unknown }): Promise<Seen<{
      incomplete_results: boolean;
      items: Array<Seen<{
        id: number;
        milestone?: Seen<{ due_on: any; title: string }>;
        number: number;
        state: string;
        title: string;
        user: Seen<{ id: number; login: string; site_admin: boolean }> | null;
      }>>;
      total_count: number;
    }>>;
  }
}

// Signatures:
// seen.record(args: { id: number }): Promise</* observed */ { closed_at: any; draft?: boolean; id: string | number; name: string | null; tags: Array<string | number>; … }>
// seen.list(args?: { [key: string]: unknown }): Promise</* observed */ Array<{ id: number; labels?: any[]; title?: string }>>
// seen.empty_list(args?: { [key: string]: unknown }): Promise</* observed */ any[]>
// seen.empty_object(args?: { [key: string]: unknown }): Promise</* observed */ { [key: string]: any }>
// seen.text(args?: { [key: string]: unknown }): Promise</* observed */ string>
// seen.text_or_list(args?: { [key: string]: unknown }): Promise</* observed */ string | Array<{ a: number }> | null>
// seen.words(args?: { [key: string]: unknown }): Promise</* observed */ string[]>
// seen.nothing(args?: { [key: string]: unknown }): Promise</* observed */ null>
// seen.never_called(args?: { [key: string]: unknown })
// seen.declared(args?: { [key: string]: unknown }): Promise<{ a?: string }>
// seen.long(args?: { [key: string]: unknown }): Promise</* observed */ { incomplete_results: boolean; items: Array<{ … }>; total_count: number }>

// Alone:
// /**
//  * One record, whose fields come and go.
//  * Result observed in 3 calls; the server declares none.
//  */
// mux.seen.record(args: { id: number }): Promise<Seen<{
//   closed_at: any;
//   draft?: boolean;
//   id: string | number;
//   name: string | null;
//   owner: Seen<{ login: string; "site-url"?: string }> | null;
//   tags: Array<string | number>;
// }>>;

// Alone:
// /** Result observed in 1 call; the server declares none. */
// mux.seen.list(args?: { [key: string]: unknown }): Promise<Array<Seen<{ id: number; labels?: any[]; title?: string }>>>;

// Alone:
// /** Result observed, not declared by the server. */
// mux.seen.empty_list(args?: { [key: string]: unknown }): Promise<Seen<any[]>>;

// Alone:
// /** Result observed, not declared by the server. */
// mux.seen.empty_object(args?: { [key: string]: unknown }): Promise<Seen<{ [key: string]: any }>>;

// Alone:
// /** Result observed, not declared by the server. */
// mux.seen.text(args?: { [key: string]: unknown }): Promise<Seen<string>>;

// Alone:
// /** Result observed, not declared by the server. */
// mux.seen.text_or_list(args?: { [key: string]: unknown }): Promise<Seen<string> | Array<Seen<{ a: number }>> | null>;

// Alone:
// /** Result observed, not declared by the server. */
// mux.seen.words(args?: { [key: string]: unknown }): Promise<Seen<string[]>>;

// Alone:
// mux.seen.nothing(args?: { [key: string]: unknown });

// Alone:
// mux.seen.never_called(args?: { [key: string]: unknown });

// Alone:
// /** What the server says counts. */
// mux.seen.declared(args?: { [key: string]: unknown }): Promise<{ a?: string }>;

// Alone:
// /**
//  * Too long for one line.
//  * Result observed, not declared by the server.
//  */
// mux.seen.long(args?: { [key: string]: unknown }): Promise<Seen<{
//   incomplete_results: boolean;
//   items: Array<Seen<{
//     id: number;
//     milestone?: Seen<{ due_on: any; title: string }>;
//     number: number;
//     state: string;
//     title: string;
//     user: Seen<{ id: number; login: string; site_admin: boolean }> | null;
//   }>>;
//   total_count: number;
// }>>;
