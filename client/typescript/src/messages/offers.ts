// What servers offer beside tools: resources, prompts, completions, all as MCP has them.

import type { MissingServer } from "./tools.js";

export type OfferKind = "resources" | "resource_templates" | "prompts";

export interface OffersRequest {
  kind: OfferKind;
  /** Of one server; of all if absent. */
  server?: string;
  /**
   * How long to wait for each server; one that comes later is among the missing. Without it, 10 s where all
   * are listed, and for one server as long as a call of it may take.
   */
  wait_ms?: number;
}

export interface OfferList {
  offers: Offered[];
  /**
   * Servers that could not be asked, each with the reason. One that offers nothing of the kind is not among
   * them.
   */
  missing?: MissingServer[];
}

export interface Offered {
  /** Its name in the configuration. */
  server: string;
  /** MCP's `Resource`, `ResourceTemplate` or `Prompt`. */
  offer: unknown;
}

/** Answered with MCP's `ReadResourceResult`. */
export interface ResourceRequest {
  server: string;
  uri: string;
  /** The client's own name for this request, under which notices speak of it. */
  token?: string;
}

/** Answered with MCP's `GetPromptResult`. */
export interface PromptRequest {
  server: string;
  name: string;
  arguments?: Record<string, unknown>;
  token?: string;
}

/** `params` of MCP's `completion/complete`; answered with its result. */
export interface CompleteRequest {
  server: string;
  params: unknown;
}

/** Whether this client is to be told when the resource changes. */
export interface SubscribeRequest {
  server: string;
  uri: string;
  subscribe: boolean;
}
