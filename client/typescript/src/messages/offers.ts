// What servers offer besides tools: resources, prompts, completions, all as MCP defines them.

import type { MissingServer } from "./tools.js";

export type OfferKind = "resources" | "resource_templates" | "prompts";

export interface OffersRequest {
  kind: OfferKind;
  /** The server to ask; all if absent. */
  server?: string;
  /**
   * How long to wait for each server; a slower one is listed as missing. If absent, 10 s when all servers are asked,
   * and as long as a call may take when one is.
   */
  wait_ms?: number;
}

export interface OfferList {
  offers: Offered[];
  /** Servers that could not be asked, each with the reason. A server that has none of the kind is not among them. */
  missing?: MissingServer[];
}

export interface Offered {
  /** The server's name in the configuration. */
  server: string;
  /** MCP's `Resource`, `ResourceTemplate` or `Prompt`. */
  offer: unknown;
}

/** Reads a resource. The answer is MCP's `ReadResourceResult`. */
export interface ResourceRequest {
  server: string;
  uri: string;
  /** The client's own name for this request, by which notices refer to it. */
  token?: string;
}

/** Gets a prompt. The answer is MCP's `GetPromptResult`. */
export interface PromptRequest {
  server: string;
  name: string;
  arguments?: Record<string, unknown>;
  token?: string;
}

/** The `params` of MCP's `completion/complete`. The answer is its result. */
export interface CompleteRequest {
  server: string;
  params: unknown;
}

/** Subscribes to changes of a resource, or ends the subscription. */
export interface SubscribeRequest {
  server: string;
  uri: string;
  subscribe: boolean;
}
