// Finding tools: ranked search, everything about a few of them, an inventory that fits a budget.

import type { Fault } from "../error.js";
import type { ToolInfo } from "./tools.js";

/** What to look for. Words may be misspelled a little. */
export interface SearchRequest {
  /** Nothing but white space finds all tools, in the order of their paths. */
  query: string;
  /** Only the tools of this server. */
  server?: string;
  /** Results of one page: 10 if absent, 100 at most. */
  limit?: number;
  /** `next` of the page before. */
  cursor?: string;
  /**
   * How long to wait for servers whose tools nobody knows yet; 10 s at most. None is started if this is 0.
   */
  wait_ms?: number;
}

/** The best first. The same tools in the same order as long as nothing changes in the pool. */
export interface SearchPage {
  results: ToolHit[];
  /** How many match, on all pages. */
  total: number;
  /** Asks for the next page; absent on the last one. */
  next?: string;
  /** Servers whose tools nobody knows yet, because they were never connected. */
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
  /** More is better; comparable within one answer only. 0 if nothing was asked for. */
  score: number;
}

export interface DescribeRequest {
  /** `server.tool`, or `server` or `server.group` for all of its tools. */
  paths: string[];
  /** With the JSON schemas of each tool. */
  schemas?: boolean;
  /** With the instructions of all servers that are known, and not only of those that are named. */
  all_instructions?: boolean;
}

export interface Descriptions {
  tools: Description[];
  /** Of the servers that were named whole, where they have any. */
  instructions?: ServerInstructions[];
  /** Paths that lead nowhere, each with the reason and the nearest that do. */
  missing?: Fault[];
}

/**
 * What a server tells its users of itself and of all its tools. These are its words and nobody else's: data from
 * outside, without letters that nobody sees, 16 KiB at most.
 */
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
  /** 2,000 if absent. */
  budget_tokens?: number;
  /** How long to wait for servers whose tools nobody knows yet; 10 s at most. */
  wait_ms?: number;
}

/** What there is, in as many words as the budget allows, shared fairly between the servers. */
export interface Inventory {
  /** For an agent to read. Says COMPLETE, or PARTIAL with how many of how many tools it names. */
  text: string;
  /** Tools that the text names. */
  shown: number;
  total: number;
  /** Servers whose tools nobody knows yet. */
  unknown?: string[];
}
