// Tools, and the types that are made of them.

import type { Fault } from "../error.js";
import type { ServerInstructions } from "./discovery.js";

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
   * Also those that their servers have for the pages of MCP Apps, and for no model. With definitions they are there
   * anyway: who gets those keeps to what they say.
   */
  for_apps?: boolean;
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
  /** Of the server that was asked for, if it has any. */
  instructions?: ServerInstructions[];
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
  /** A function of a source that cannot be called, because of where its description has it called. */
  forbidden?: boolean;
  /** Offered as an ordinary tool beside programs. */
  direct?: boolean;
  /** It is not what it was when it was first trusted. */
  changed?: boolean;
  /** Only pages of its server may call it, and no model: it is shown to none. */
  for_apps?: boolean;
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
