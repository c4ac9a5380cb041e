// The rules that are in force for an agent, and which of them decides a call.

export interface PolicyRequest {
  /** The agent whose rules to list; absent for a client without an agent's name. */
  agent?: string;
}

/** The rules in the order of their evaluation. */
export interface PolicyList {
  rules: PolicyRule[];
  /** Whether the agent has rules of its own in place of the general ones. */
  own: boolean;
  /** The number of calls since the daemon's start to which no rule applied. */
  allowed_by_default: number;
  /** The number of those calls whose tools declare themselves destructive. */
  destructive_by_default: number;
}

export interface PolicyRule {
  /** The rule's number in its own list, from 1. */
  number: number;
  action: PolicyAction;
  /** Globs of paths. */
  match: string[];
  /** The other conditions, as they were written. */
  conditions?: string[];
  reason?: string;
  /** Why the rule is invalid, so that it denies. */
  mistake?: string;
  /** The agent to which the rule belongs, if it is not a general one. */
  agent?: string;
  /** The project to which the rule belongs, if any. */
  project?: string;
  /** Which text of that project's `.mux.toml` contains the rule. */
  project_text?: ProjectText;
  /** How often the rule has decided since the daemon's start. */
  decided: number;
}

export type ProjectText =
  /** The present text, which is approved. */
  | "current"
  /** The text that was approved last. It has been replaced or deleted since. */
  | "approved"
  /** The present text, which is not approved. */
  | "unapproved";

export type PolicyAction = "allow" | "ask" | "deny";

/** A hypothetical call. Without arguments, the answer says which rules depend on them. */
export interface ExplainPolicyRequest {
  path: string;
  /** An object. */
  arguments?: unknown;
  /** The arguments as typed on a command line, as in `CallRequest`. */
  typed?: [string, string][];
  agent?: string;
  /** The client's name; that of the requesting client if absent. */
  client?: string;
  /** The directory in which the client works; that of the requesting client if absent. */
  workspace?: string;
  /** The text of a `config.toml` whose rules decide, in place of those in force. Feature `config_text`. */
  config?: string;
}

export interface PolicyExplanation {
  /** The path of the tool; canonical if the tool is known. */
  path: string;
  known: boolean;
  action: PolicyAction;
  /** The rule that decides; absent for the default. */
  rule?: PolicyRule;
  /** Whether an earlier rule applies with some arguments, and none were given. */
  depends?: boolean;
  /** The evaluated rules, in their order. */
  steps: PolicyStep[];
  /** The tool's annotations, by the names that rules use. */
  hints?: [string, boolean][];
  verb?: string;
  notes?: string[];
}

export interface PolicyStep {
  rule: PolicyRule;
  outcome: PolicyOutcome;
  /** The reason, as text. */
  because: string;
}

export type PolicyOutcome =
  /** The rule applies, and no further rule is evaluated. */
  | "decides"
  /** The rule concerns other paths or servers. */
  | "elsewhere"
  /** A condition of the rule is not met. */
  | "unmet"
  /** The rule applies with some arguments. */
  | "depends";
