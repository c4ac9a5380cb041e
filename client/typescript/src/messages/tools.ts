// Tools, and the TypeScript declarations that are generated from them.

import type { Fault } from "../error.js";
import type { ServerInstructions } from "./discovery.js";

export interface ToolsRequest {
  /** Words that must all appear in the path or the description. */
  query?: string;
  server?: string;
  limit?: number;
  /** Whether to include the JSON schemas of each tool. */
  schemas?: boolean;
  /** Whether to list only tools that are offered directly besides programs. */
  direct?: boolean;
  /** Whether to include each tool's whole definition. */
  definitions?: boolean;
  /**
   * Whether to include tools that servers reserve for the pages of MCP Apps. With `definitions` they are always
   * included: clients that get definitions must respect their visibility.
   */
  for_apps?: boolean;
  /**
   * How long to wait for servers whose tools are not known yet; if absent, until they are ready or have failed. Those
   * that are not ready by then are listed as missing.
   */
  wait_ms?: number;
}

export interface ToolList {
  tools: ToolInfo[];
  /** The number of matching tools, whatever the limit. */
  total: number;
  /** Servers whose tools are not in the list, each with the reason. */
  missing: MissingServer[];
  /** Remarks on unusual names: collisions, spellings. */
  warnings: string[];
  /** Servers that are not connected, whose tools are those of their last session. */
  remembered?: string[];
  /** The instructions of the requested server, if it has any. */
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
  /** The number of calls from which the result's type was learned, for a tool that declares none. */
  observed_calls?: number;
  /**
   * Whether it is a function of a source that cannot be called, because its description calls it at an address that is
   * not allowed.
   */
  forbidden?: boolean;
  /** Whether it is offered directly besides programs. */
  direct?: boolean;
  /** Whether it has changed since it was first trusted. */
  changed?: boolean;
  /** Whether only pages of its server may call it: it is not shown to models. */
  for_apps?: boolean;
  /** The whole MCP `Tool`, as the server sent it. */
  definition?: unknown;
}

export interface TypesRequest {
  /** `server` or `server.tool`; everything if empty. */
  paths?: string[];
}

/** Waits until the declarations of all tools differ from those that the client has. */
export interface WatchTypesRequest {
  /** The name of the declarations that the client has. */
  known?: string;
  wait_ms: number;
}

export interface TypesPage {
  /** Identifies the text by its content. */
  name: string;
  /** The `.d.ts`; absent if the client has it already. */
  text?: string;
}

/** The tools whose learned result types to delete. */
export interface ForgetTypesRequest {
  /** `server` or `server.tool`; everything if empty. */
  paths?: string[];
}

export interface Forgotten {
  /** The number of tools whose learned types were deleted. */
  tools: number;
}
