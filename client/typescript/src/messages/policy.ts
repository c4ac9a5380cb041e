// The rules that are in force for somebody, and which of them decides a call.

export interface PolicyRequest {
  /** Whose rules; absent for a client without an agent's name. */
  agent?: string;
}

/** The rules in the order in which they are asked. */
export interface PolicyList {
  rules: PolicyRule[];
  /** Whether the agent has rules of its own in place of everybody's. */
  own: boolean;
  /** Calls that no rule was about, since the daemon's start. */
  allowed_by_default: number;
  /** Of those, the calls of tools that call themselves destructive. */
  destructive_by_default: number;
}

export interface PolicyRule {
  /** From 1, in its own list. */
  number: number;
  action: PolicyAction;
  /** Globs of paths. */
  match: string[];
  /** What else must hold, as it was written. */
  conditions?: string[];
  reason?: string;
  /** Why it denies whatever it was meant to do. */
  mistake?: string;
  /** The agent whose own rule it is. */
  agent?: string;
  /** The project that denies. */
  project?: string;
  /** Which text of that project's `.mux.toml` it stands in. */
  project_text?: ProjectText;
  /** How often it has decided since the daemon's start. */
  decided: number;
}

export type ProjectText =
  /** The one that is there, approved. */
  | "current"
  /** The one that was approved last. Another one is there now, or none. */
  | "approved"
  /** The one that is there, not approved. */
  | "unapproved";

export type PolicyAction = "allow" | "ask" | "deny";

/** A call that somebody thinks of. Without arguments it is told what depends on them. */
export interface ExplainPolicyRequest {
  path: string;
  /** An object. */
  arguments?: unknown;
  /** The same as somebody types them. */
  typed?: [string, string][];
  agent?: string;
  /** What the client calls itself; the one that asks, if absent. */
  client?: string;
  /** Where it works; where the one that asks does, if absent. */
  workspace?: string;
}

export interface PolicyExplanation {
  /** Canonical, if the tool is known. */
  path: string;
  known: boolean;
  action: PolicyAction;
  /** What decides; absent for the default. */
  rule?: PolicyRule;
  /** A rule before it applies with some arguments, and none were told. */
  depends?: boolean;
  /** The rules that were looked at, in their order. */
  steps: PolicyStep[];
  /** What the tool says of itself, by the names that rules have for it. */
  hints?: [string, boolean][];
  verb?: string;
  notes?: string[];
}

export interface PolicyStep {
  rule: PolicyRule;
  outcome: PolicyOutcome;
  /** In words. */
  because: string;
}

export type PolicyOutcome =
  /** It applies, and no other is asked. */
  | "decides"
  /** It is about other paths or servers. */
  | "elsewhere"
  /** A condition is not met. */
  | "unmet"
  /** It applies with some arguments. */
  | "depends";
