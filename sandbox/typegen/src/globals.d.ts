
// The other globals of a program.

interface Mux {
  /** Calls a tool by a path that is found at run time: `mux.call("server.tool", { … })`. */
  readonly call: {
    (path: string, args?: object): Promise<any>;
    /** The same, but returns the whole result as the server sent it. */
    raw(
      path: string,
      args?: object,
    ): Promise<{ content: any[]; structuredContent?: any; isError?: boolean; [key: string]: any }>;
  };
  /** Passes content to the caller in addition to the result: from a tool, or made here. */
  readonly emit: (part: ContentBlock | readonly ContentBlock[]) => void;
  /** Reads a value that was too long to be returned, by its handle: all of it, or a part of its JSON. */
  readonly read: {
    (handle: string | { readonly handle: string }): Promise<any>;
    (handle: string | { readonly handle: string }, range: { offset?: number; length?: number }): Promise<{
      text: string;
      offset: number;
      /** The offset of the next page, or null at the end. */
      next: number | null;
      total: number;
    }>;
  };
  /**
   * Reads text as data: JSON, JSON Lines, a Python literal, a YAML list or map, TSV or CSV, in this order, or as the
   * given format. CSV and TSV become an array of objects of strings. Blank text is null in every format, and a
   * value that is not a string is returned unchanged. Throws an error with line and column if the text fits no format: a
   * sentence, or a single line such as `Error: not found`.
   */
  readonly $parse: (text: any, format?: "json" | "jsonl" | "python" | "yaml" | "tsv" | "csv") => any;
  /** Finds tools by a few words in their names, servers, arguments and descriptions; best match first. */
  readonly search: (
    query: string,
    options?: { server?: string; limit?: number; cursor?: string },
  ) => Promise<{
    results: ToolHit[];
    /** The number of matches on all pages. */
    total: number;
    /** The `cursor` of the next page, or null at the end. */
    next: string | null;
    /** Servers whose tools are not known yet. */
    unknown: string[];
  }>;
  /**
   * Everything about a few tools, by path: `mux.describe("server.tool", …)`, or `"server"` or `"server.group"` for all
   * of its tools.
   */
  readonly describe: (
    ...paths: string[] | [paths: readonly string[]]
  ) => Promise<{
    tools: ToolDescription[];
    /** For servers that were named without a tool: each server's own instructions. */
    servers: { name: string; instructions: string }[];
    missing: { path: string; message: string; hint: string | null }[];
  }>;
  /** A search whose result begins with the best path. `compact` returns only path and signature. */
  readonly discover: (options: {
    query: string;
    limit?: number;
    compact?: boolean;
    includeSchemas?: boolean;
  }) => Promise<{
    bestPath: string | null;
    results: {
      path: string;
      signature: string;
      server?: string;
      name?: string;
      description?: string;
      score?: number;
      inputSchema?: any;
      outputSchema?: any;
    }[];
    total: number;
  }>;
  /** Lists of servers and tools. */
  readonly catalog: {
    /** The servers. `tools` is their number of tools, or null if it is not known yet. */
    readonly namespaces: (options?: {}) => Promise<{
      namespaces: {
        name: string;
        tools: number | null;
        state: "cold" | "starting" | "ready" | "degraded" | "failed" | "backing_off" | "broken";
      }[];
    }>;
    /** The tools in the order of their paths, or best match first if there is a query. */
    readonly tools: (options?: {
      namespace?: string;
      query?: string;
      limit?: number;
      cursor?: string;
    }) => Promise<{ results: ToolHit[]; total: number; next: string | null }>;
  };
  /** Resources of servers: `mux.resources.docs.read("docs://intro")`. */
  readonly resources: { readonly [server: string]: Resources };
  /** Prompts of servers: `mux.prompts.docs.get("summary", { topic: "types" })`. */
  readonly prompts: { readonly [server: string]: Prompts };
  /** The JSON that the caller passed with the program. */
  readonly input: any;
  /** Any tool by its path, as in `mux["my-server.get-thing"]`. */
  readonly [path: `${string}.${string}`]: (args?: object) => Promise<any>;
}

/** A tool among others. */
interface ToolHit {
  /** For `mux.call(path, args)`, or as written after `mux.` */
  path: string;
  server: string;
  name: string;
  /** The beginning of its description. */
  description?: string;
  /** Arguments and result, on one line. */
  signature: string;
  score: number;
}

interface ToolDescription {
  path: string;
  server: string;
  name: string;
  description?: string;
  signature: string;
  readOnly?: boolean;
  destructive?: boolean;
  /** TypeScript: its documentation, its signature and the types that it names. */
  declaration: string;
}

interface Resources {
  readonly list: () => Promise<
    { uri: string; name: string; title?: string; description?: string; mimeType?: string; [key: string]: any }[]
  >;
  /** Patterns of readable uris. */
  readonly templates: () => Promise<
    { uriTemplate: string; name: string; title?: string; description?: string; mimeType?: string; [key: string]: any }[]
  >;
  /**
   * The only text or, if that is a JSON object or array, the parsed value; the only blob as
   * `{ uri, mimeType, blob }`; otherwise an array of all contents. `any`, because only the call can tell.
   */
  readonly read: (uri: string) => Promise<any>;
}

interface Prompts {
  readonly list: () => Promise<
    {
      name: string;
      title?: string;
      description?: string;
      arguments?: { name: string; description?: string; required?: boolean; [key: string]: any }[];
      [key: string]: any;
    }[]
  >;
  readonly get: (
    name: string,
    args?: { readonly [name: string]: string },
  ) => Promise<{ description?: string; messages: { role: "user" | "assistant"; content: ContentBlock }[] }>;
}

/** MCP content, distinguished by `type`. `data` and `blob` are base64. */
type ContentBlock =
  | { type: "text"; text: string; [key: string]: any }
  | { type: "image" | "audio"; data: string; mimeType: string; [key: string]: any }
  | { type: "resource"; resource: ResourceContents; [key: string]: any }
  | { type: "resource_link"; uri: string; name: string; [key: string]: any };

type ResourceContents = { uri: string; mimeType?: string; [key: string]: any } & (
  | { text: string }
  | { blob: string }
);

/**
 * The result of a tool that declares no result type and was not called before: its text or, if that is a JSON object or
 * array, the parsed value; null for no text, `null` and Python's `None`; an array for several parts. `any`, because only
 * the call can tell. Once a tool has returned text that is not JSON, its type is string: later texts are not parsed, not
 * even `[]`.
 */
type ToolText = any;

/** A tool of a server whose tools are not known yet, or a group of them. */
interface AnyTool {
  (args?: object): Promise<any>;
  readonly [tool: string]: AnyTool;
}

declare const seen: unique symbol;

/**
 * A type that the server does not declare. It describes the results so far, so another call may show
 * more fields. Use it like `T`.
 */
type Seen<T> = T & { readonly [seen]?: never };

declare const closed: unique symbol;

/** An object of a tool that cannot have other members. Use it like `T`. */
type Closed<T> = T & { readonly [closed]?: never };

/** The fields to return: `"{ id author { name } }"`, or the same as `{ id: true, author: { name: true } }`. */
type Selection = string | { readonly [field: string]: any };

/** The result `T`, or any for a call that selects fields. */
type Selected<S, T> = [S] extends [never] ? T : any;

/** The error that a failed call throws. */
interface ToolError extends Error {
  /** `tool`, `validation`, `not_found`, `timeout`, `denied`, `unavailable` and others. */
  kind: string;
  /** The tool that was called. */
  path?: string;
  /** True if other code could succeed. */
  recoverable: boolean;
  hint?: string;
  /** The tool's own content, if there is any. */
  details?: unknown;
}

/** Streamed to the caller while the program runs. */
declare const console: {
  log(...values: any[]): void;
  info(...values: any[]): void;
  warn(...values: any[]): void;
  error(...values: any[]): void;
  debug(...values: any[]): void;
  trace(...values: any[]): void;
  dir(value: any, options?: any): void;
  dirxml(...values: any[]): void;
  table(rows: any, columns?: readonly string[]): void;
  assert(ok?: any, ...values: any[]): void;
  group(...values: any[]): void;
  groupCollapsed(...values: any[]): void;
  groupEnd(): void;
  count(label?: string): void;
  countReset(label?: string): void;
  time(label?: string): void;
  timeLog(label?: string, ...values: any[]): void;
  timeEnd(label?: string): void;
  clear(): void;
};

declare function setTimeout(run: (...args: any[]) => void, ms?: number, ...args: any[]): number;
declare function clearTimeout(timer?: number): void;
declare function setInterval(run: (...args: any[]) => void, ms?: number, ...args: any[]): number;
declare function clearInterval(timer?: number): void;
// These accept any value.
declare function parseInt(value: any, radix?: number): number;
declare function parseFloat(value: any): number;
declare function isNaN(value: any): boolean;
declare function isFinite(value: any): boolean;

declare function queueMicrotask(run: () => void): void;
declare function structuredClone<T>(value: T): T;
declare function btoa(bytes: string): string;
declare function atob(base64: string): string;

declare const performance: { now(): number; readonly timeOrigin: number };
declare const crypto: {
  randomUUID(): `${string}-${string}-${string}-${string}-${string}`;
  getRandomValues<T extends ArrayBufferView>(array: T): T;
};

declare class TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array<ArrayBuffer>;
  encodeInto(text: string, bytes: Uint8Array): { read: number; written: number };
}

declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  decode(bytes?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}

declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string | URL, base?: string | URL): boolean;
  static parse(url: string | URL, base?: string | URL): URL | null;
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly searchParams: URLSearchParams;
  toString(): string;
  toJSON(): string;
}

declare class URLSearchParams {
  constructor(init?: string | string[][] | Record<string, string> | URLSearchParams);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  toString(): string;
  forEach(visit: (value: string, name: string, all: URLSearchParams) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
