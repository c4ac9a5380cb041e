// Tools, and the types that are made of them.

import type { Fault } from "../error.js";

export interface ToolsRequest {
  /** Words that must all appear in the path or the description. */
  query?: string;
  server?: string;
  limit?: number;
  /** With the JSON schemas of each tool. */
  schemas?: boolean;
  /** Only those that are offered as ordinary tools beside programs. */
  direct?: boolean;
  /** With each tool's whole definition. */
  definitions?: boolean;
  /**
   * How long to wait for servers whose tools nobody knows yet; without it, until they are ready or have
   * failed. Those that are not ready then are among the missing.
   */
  wait_ms?: number;
}

export interface ToolList {
  tools: ToolInfo[];
  /** How many match, whatever the limit. */
  total: number;
  /** Servers whose tools are not in the list, each with the reason. */
  missing: MissingServer[];
  /** What is unusual about a name: collisions, spellings. */
  warnings: string[];
  /** Servers that are not connected, and whose tools are those of their last session. */
  remembered?: string[];
}

export interface MissingServer {
  server: string;
  error: Fault;
}

export interface ToolInfo {
  /** `server.tool` as a program writes it after `mux.`. */
  path: string;
  server: string;
  /** As the server spells it. */
  name: string;
  title?: string;
  description?: string;
  /** `files.read(args: {…}): Promise<…>`. */
  signature: string;
  read_only?: boolean;
  destructive?: boolean;
  input_schema?: unknown;
  output_schema?: unknown;
  /** Of how many calls the result's type was learned, for a tool that declares none. */
  observed_calls?: number;
  /** Offered as an ordinary tool beside programs. */
  direct?: boolean;
  /** It is not what it was when it was first trusted. */
  changed?: boolean;
  /** MCP's `Tool`, whole, as the server gave it. */
  definition?: unknown;
}

export interface TypesRequest {
  /** `server` or `server.tool`; everything if empty. */
  paths?: string[];
}

/** Asks for the declarations of everything as soon as they are others than those that the client has. */
export interface WatchTypesRequest {
  /** The name of those that the client has. */
  known?: string;
  wait_ms: number;
}

export interface TypesPage {
  /** Names the text by its content. */
  name: string;
  /** The `.d.ts`; absent if the client has it. */
  text?: string;
}

/** Whose results to forget. */
export interface ForgetTypesRequest {
  /** `server` or `server.tool`; everything if empty. */
  paths?: string[];
}

export interface Forgotten {
  /** Of so many tools a type had been learned. */
  tools: number;
}
