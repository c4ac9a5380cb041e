// Finding tools: ranked search, complete descriptions of a few tools, and an overview within a budget.

import type { Fault } from "../error.js";
import type { ToolInfo } from "./tools.js";

/** What to search for. Words may contain small typos. */
export interface SearchRequest {
  /** The words to search for. White space only matches all tools, in the order of their paths. */
  query: string;
  /** The server whose tools to search; all servers if absent. */
  server?: string;
  /** The number of results on one page: 10 if absent, 100 at most. */
  limit?: number;
  /** `next` of the page before. */
  cursor?: string;
  /**
   * The maximum number of tokens of signatures and descriptions. Descriptions are shortened to fit, and results that
   * do not fit are left to the next page. No limit if absent.
   */
  budget_tokens?: number;
  /** How long to wait for servers whose tools are not known yet; 10 s at most. None is started if this is 0. */
  wait_ms?: number;
}

/** One page of results, the best first. The same tools come in the same order as long as no server's tools change. */
export interface SearchPage {
  results: ToolHit[];
  /** The number of matches on all pages. */
  total: number;
  /** The cursor of the next page; absent on the last one. */
  next?: string;
  /** Servers whose tools are not known yet, because they were never connected. */
  unknown?: string[];
}

export interface ToolHit {
  /** As a program writes it after `mux.`. */
  path: string;
  server: string;
  /** As the server spells it. */
  name: string;
  /** The beginning of its description. */
  description?: string;
  /** `files.read(args: {…}): Promise<…>`. */
  signature: string;
  /** How well the tool matches: higher is better; comparable within one answer only. 0 if the query is empty. */
  score: number;
}

export interface DescribeRequest {
  /** `server.tool`, or `server` or `server.group` for all of its tools. */
  paths: string[];
  /** Whether to include the JSON schemas of each tool. */
  schemas?: boolean;
  /** Whether to include the instructions of all known servers, and not only of those that are named. */
  all_instructions?: boolean;
}

export interface Descriptions {
  tools: Description[];
  /** The instructions of the servers that were named as a whole, where they have any. */
  instructions?: ServerInstructions[];
  /** Unknown paths, each with the reason and similar paths that exist. */
  missing?: Fault[];
}

/** A server's `instructions`. Untrusted text from the server, without invisible characters, 16 KiB at most. */
export interface ServerInstructions {
  server: string;
  text: string;
}

export interface Description {
  tool: ToolInfo;
  /** TypeScript: its documentation, its signature, the types that it names. */
  declaration: string;
}

export interface InventoryRequest {
  /** The maximum number of tokens; 2,000 if absent. */
  budget_tokens?: number;
  /** How long to wait for servers whose tools are not known yet; 10 s at most. */
  wait_ms?: number;
}

/** An overview of all tools within a budget, shared fairly between the servers. */
export interface Inventory {
  /** The overview, for an agent. Contains COMPLETE, or PARTIAL with how many of how many tools it names. */
  text: string;
  /** The number of tools that the text names. */
  shown: number;
  total: number;
  /** Servers whose tools are not known yet. */
  unknown?: string[];
}
