// The messages of the contract, and its methods. Optional members may be absent, and unknown members may be present.
//
// Generated from `proto`: `UPDATE_GOLDEN=1 cargo nextest run -p mux-proto typescript` regenerates this file.

/** By their names in `hello`; on the wire each is written in upper camel case. */
export interface Methods {
  /** Introduces both sides. Any other request before it is refused. */
  hello: { params: { hello: Hello }; answer: Welcome };
  /** A client of another contract asks the daemon to drain and make room for its own. */
  retire: { params: { reason: string }; answer: null };
  /** Everything that `mux status` shows. */
  status: { params: Record<string, never>; answer: Status };
  /**
   * Starts a program and answers immediately. The run belongs to this client and agent. Read its events with
   * `events`. The run ends with this connection, unless it is detached.
   */
  start_run: { params: { request: RunRequest }; answer: RunStarted };
  /**
   * Waits until there are events after `after`, or until `wait_ms` have passed, 30 s at most. Returns about 1 MiB of
   * events. Request the rest with the number of the last event.
   */
  events: { params: { request: EventsRequest }; answer: EventPage };
  /**
   * Cancels a run and its calls in flight. Answers before the run has ended. Cancelling a run that has ended is not
   * an error.
   */
  cancel_run: { params: { run: string }; answer: null };
  /** Checks a program without running it. */
  check: { params: { request: CheckRequest }; answer: Diagnostics };
  /** Calls one tool, and says which notices come before its answer. The call is cancelled if this connection ends. */
  call: { params: { request: CallRequest }; answer: CallAnswer };
  /** The tools of all servers, or the matching tools. */
  tools: { params: { request: ToolsRequest }; answer: ToolList };
  /** The `.d.ts` that a program is written against. */
  types: { params: { request: TypesRequest }; answer: string };
  /** The configured servers and the state of their sessions. */
  servers: { params: Record<string, never>; answer: ServerInfo[] };
  /** Closes a server's session and opens a new one. */
  restart_server: { params: { server: string }; answer: ServerInfo };
  /** Reads the configuration again. */
  reload: { params: Record<string, never>; answer: ReloadReport };
  /** Drains and ends the daemon. Answers before it does. */
  stop: { params: { request: StopRequest }; answer: null };
  /**
   * The runs that have not ended, and the ended runs that are kept. As with every method that names a run or an
   * approval, the user's own clients (`mux`, `mux ui`, `vscode`) find all runs, also by their numbers. Every other
   * client, and every client that names an agent, finds only runs of the same client and agent, by their whole ids,
   * and gets `not_found` for all others.
   */
  runs: { params: { request: RunsRequest }; answer: RunList };
  /** One run, by its id. The user's own clients can also use the number at the end of the id. */
  run_info: { params: { run: string }; answer: RunInfo };
  /**
   * A page of a stored value. Fails with `validation` if the handle is malformed, and with `not_found` if no value
   * is stored under it.
   */
  read: { params: { request: ReadRequest }; answer: ReadPage };
  /**
   * Waits until the declarations of all tools differ from the client's, or until `wait_ms` have passed, 30 s at
   * most. Starts no server.
   */
  watch_types: { params: { request: WatchTypesRequest }; answer: TypesPage };
  /** Deletes the learned result types of tools. The next calls learn them again. */
  forget_types: { params: { request: ForgetTypesRequest }; answer: Forgotten };
  /** Tools ranked by how well they fit a few words. */
  search: { params: { request: SearchRequest }; answer: SearchPage };
  /** The complete descriptions of a few tools. */
  describe: { params: { request: DescribeRequest }; answer: Descriptions };
  /** An overview of all tools, within a budget of tokens. */
  inventory: { params: { request: InventoryRequest }; answer: Inventory };
  /** The resources, resource templates or prompts of servers. */
  offers: { params: { request: OffersRequest }; answer: OfferList };
  /** MCP's `ReadResourceResult`. */
  read_resource: { params: { request: ResourceRequest }; answer: Held };
  /** MCP's `GetPromptResult`. */
  get_prompt: { params: { request: PromptRequest }; answer: Held };
  /** MCP's `CompleteResult`. */
  complete: { params: { request: CompleteRequest }; answer: unknown };
  /** Subscribes this connection to a resource, or ends the subscription. */
  subscribe: { params: { request: SubscribeRequest }; answer: null };
  /** Waits until there are notices after `after`, or until `wait_ms` have passed, 30 s at most. */
  notices: { params: { request: NoticesRequest }; answer: NoticePage };
  /** Answers the notice `ask`. Does nothing if the question is no longer open. */
  answer: { params: { request: AnswerRequest }; answer: null };
  /** The tools of one server, each with its pin. */
  pins: { params: { request: PinsRequest }; answer: PinList };
  /**
   * Pins the current definitions of tools. Fails with `validation` if one of them is not the definition that was
   * seen.
   */
  accept_pins: { params: { request: AcceptPinsRequest }; answer: AcceptedPins };
  /** Loads the configuration files as they are now. Unlike `reload`, it does not run the commands in them again. */
  refresh: { params: Record<string, never>; answer: ReloadReport };
  /** Projects whose files define servers, approved or not. */
  projects: { params: { request: ProjectsRequest }; answer: ProjectList };
  /** Approves a project's files as the user has seen them. Fails with `validation` if they have changed since. */
  approve_project: { params: { request: ApproveProjectRequest }; answer: ProjectInfo };
  /** Revokes a project's approval. The project's servers end. */
  revoke_project: { params: { root: string }; answer: ProjectRevoked };
  /**
   * Starts a login to a server. A login that is in progress there is cancelled. The new login is also cancelled if
   * this connection ends before the user has decided.
   */
  login: { params: { request: LoginRequest }; answer: LoginStarted };
  /** Waits for the outcome of a login, or until `wait_ms` have passed. */
  login_wait: { params: { request: LoginWaitRequest }; answer: LoginState };
  /** Completes a login by hand, with the URL to which the browser was redirected. */
  login_finish: { params: { request: LoginFinishRequest }; answer: LoginState };
  /** Revokes and deletes the tokens for a server. */
  logout: { params: { server: string }; answer: LoggedOut };
  /** Reloads a source's description. If the new description cannot be fetched or parsed, the current one is kept. */
  refresh_source: { params: { source: string }; answer: RefreshedSource };
  /** The TypeScript that is equivalent to a step program. Starts nothing. */
  explain_program: { params: { request: ExplainRequest }; answer: Explained };
  /**
   * Stores a named secret and applies it wherever it is named. Fails with `validation` if the name or value is
   * invalid.
   */
  set_secret: { params: { request: SetSecretRequest }; answer: SecretInfo };
  /** The names of the secrets that are set or that the configuration names. */
  list_secrets: { params: Record<string, never>; answer: SecretList };
  /** Deletes a named secret. The entries that name it cannot be used any more. */
  remove_secret: { params: { name: string }; answer: SecretRemoved };
  /** Calls that wait for approval, or, for the user's own clients, the calls that are always allowed. */
  approvals: { params: { request: ApprovalsRequest }; answer: ApprovalList };
  /** Answers an approval. The first answer counts. Later answers fail with `validation`. */
  decide: { params: { request: DecideRequest }; answer: Decided };
  /** Revokes a grant that always allows a tool's calls. For the user's own clients. */
  revoke_approval: { params: { grant: string }; answer: GrantInfo };
  /** Resumes a run that ended as `pending`. Calls that had ended are not sent again. */
  resume_run: { params: { request: ResumeRequest }; answer: Resumed };
  /** The rules that apply to an agent in this client's directory. */
  policy: { params: { request: PolicyRequest }; answer: PolicyList };
  /** Which rule would decide a call, and why. The call is not sent, and no server is started. */
  explain_policy: { params: { request: ExplainPolicyRequest }; answer: PolicyExplanation };
  /** The settings that apply to an agent, each with its origin. */
  settings: { params: { request: SettingsRequest }; answer: SettingsReport };
  /** The problems of a configuration. The configuration is not applied, and none of its commands is run. */
  check_config: { params: { request: CheckConfigRequest }; answer: ConfigReport };
  /**
   * Hands over to another program, without a gap. Answers when the new program serves. This daemon exits with its
   * last run.
   */
  upgrade: { params: { request: UpgradeRequest }; answer: Upgraded };
  /** The daemon's metrics: counters since its start, and its current state. */
  metrics: { params: Record<string, never>; answer: Metrics };
  /** Everything that is known about a server's sandbox. */
  sandbox: { params: { server: string }; answer: SandboxProfile };
  /**
   * Restarts a server without its sandbox, observes its sessions for a while, and answers with a sandbox in which
   * they would have worked. The observation also ends with this connection.
   */
  suggest_sandbox: { params: { request: SuggestSandboxRequest }; answer: SandboxSuggestion };
  /**
   * Ends the observation of a server, whose `suggest_sandbox` then answers. Without an observation, this does
   * nothing.
   */
  end_observation: { params: { server: string }; answer: null };
  /** Stores a value that others can read by its handle. For clients whose reader accepts less than a message. */
  keep: { params: { request: KeepRequest }; answer: Handle };
  /**
   * The program of a run, and its calls with arguments and results. Fails with `not_found` if the history does not
   * have the run.
   */
  run_journal: { params: { request: RunJournalRequest }; answer: RunJournal };
}

/** Pins tools as they are now. */
export interface AcceptPinsRequest {
  server: string;
  tools: SeenTool[];
}

export interface AcceptedPins {
  tools: number;
}

export type Answer =
  /** The result as MCP defines it. */
  | { result: unknown }
  /** The client cannot answer, for this reason. */
  | { refused: string };

export interface AnswerRequest {
  ask: number;
  answer: Answer;
}

/** A call that must be approved. */
export interface ApprovalAsked {
  approval: string;
  path: string;
  /** The arguments as JSON, or the beginning. */
  arguments: string;
  /** The length of the arguments as JSON, in bytes. */
  bytes: number;
  rule: string;
  reason?: string;
  /** As in `ApprovalInfo.cover`. */
  cover?: string;
  /** Milliseconds until the call fails as `pending`. */
  wait_ms: number;
}

export type ApprovalEnding =
  | "approved"
  | "denied"
  /** There was no answer in time. */
  | "pending";

/** One call that must be approved. */
export interface ApprovalInfo {
  /**
   * `A7`, which is never reused. A client that is not the user's own gets the whole name, `A7.` and a random word,
   * and finds the approval by no other.
   */
  approval: string;
  state: ApprovalState;
  /** `server.tool` */
  path: string;
  /** The arguments of the call. Absent if they are too long for a list. */
  arguments?: unknown;
  /** The beginning of the arguments as JSON, if `arguments` is absent. */
  preview?: string;
  /** The length of the arguments as JSON, in bytes. */
  bytes: number;
  /** The client that made the call, by the name that it gave in `hello`. */
  client: string;
  agent?: string;
  workspace?: string;
  /** Absent for a call outside of runs. */
  run?: string;
  /** The rule that requires the approval, and its reason. */
  rule: string;
  reason?: string;
  /**
   * Identifies the current version of the tool, with the rule: `session` and `always` cover calls with the same
   * value.
   */
  cover?: string;
  /** Milliseconds since the Unix epoch. */
  since_ms: number;
  /** Milliseconds until the call fails as `pending`. Absent if it has failed. */
  left_ms?: number;
}

export interface ApprovalList {
  /** Counts up with every change. */
  edition: number;
  approvals: ApprovalInfo[];
  granted: GrantInfo[];
}

/** The outcome of an approval. */
export interface ApprovalOver {
  approval: string;
  path: string;
  ending: ApprovalEnding;
}

export type ApprovalState =
  /** The call waits for an answer. */
  | "waiting"
  /** The call failed as `pending`. `resume_run` continues the run. */
  | "pending"
  /** Approved after it failed as `pending`. `resume_run` continues the run. */
  | "approved"
  /** Denied after it failed as `pending`. */
  | "denied";

/** Selects the approvals to list. */
export interface ApprovalsRequest {
  /** Only this approval, with all of its arguments. */
  approval?: string;
  /** Lists the calls that are always allowed, instead of the waiting calls. */
  granted?: boolean;
  /**
   * The edition that the client has: the answer waits until there is another, or until `wait_ms` have
   * passed, 30 s at most.
   */
  known?: number;
  wait_ms?: number;
}

/** Approves the files that the user has seen, by their digest. */
export interface ApproveProjectRequest {
  root: string;
  digest: string;
}

export type AskKind =
  | "elicitation"
  | "sampling"
  | "roots"
  /**
   * A call of this connection must be approved: `params` is an `ApprovalAsked`, and the answer
   * `{"decision": …, "reason"?: …, "shown"?: […]}` as in `DecideRequest`.
   */
  | "approval";

export type AuthState =
  | "signed_in"
  /** No valid login exists: `mux servers login NAME`. */
  | "required";

export interface Bucket {
  /** The upper bound. */
  most: number;
  /** The number of durations up to this bound. */
  count: number;
}

/** The result of a call, and its position among the notices of its connection. */
export interface CallAnswer {
  result: Held;
  /** The number of the last notice before the answer; 0 if there was none. */
  last_notice: number;
}

/** A call of a run. */
export interface CallRecord {
  /** The number of the call in the run's events. Absent if it did not reach a server. */
  call?: number;
  /** The tool as the program wrote it. */
  tool: string;
  /** Milliseconds from the acceptance of the run to the call. */
  at_ms: number;
  /** Milliseconds from the call to its end. */
  ms: number;
  arguments: KeptValue;
  /** Absent if the call failed or had not ended. */
  result?: KeptValue;
  error?: Fault;
}

export interface CallRequest {
  /** `server.tool`. */
  path: string;
  /** An object. */
  arguments?: unknown;
  /**
   * Arguments as typed on a command line: names with strings, which the daemon converts as the tool's schema
   * requires. A name may occur several times where a list is expected.
   */
  typed?: [string, string][];
  /**
   * Whether to reject arguments that the tool's schema does not declare, as a program's type check does. A schema
   * with `additionalProperties` declares them all.
   */
  declared_only?: boolean;
  /** Whether to return the whole `CallToolResult` instead of its value. */
  raw?: boolean;
  /**
   * If the whole result is too long for a message, it is stored without content that repeats its structured content.
   */
  lean?: boolean;
  timeout_ms?: number;
  /** The client's own name for this call, by which notices refer to it. */
  token?: string;
  /** The W3C trace context of the caller, as in `RunRequest`. */
  traceparent?: string;
  tracestate?: string;
  /**
   * `_meta` of the request that the server gets, without keys that muxd sets itself: `progressToken`, `traceparent`,
   * `tracestate`, `muxd/…` and `io.modelcontextprotocol/…`. At most 64 KiB.
   */
  meta?: Record<string, unknown>;
}

/** The run or call of this connection that caused a notice. */
export type Cause =
  | { run: string }
  /** The token of a call, or an empty string if it had none. */
  | { call: string };

/** Checks a configuration without applying it. */
export interface CheckConfigRequest {
  text: string;
  /** The file's name, for messages. */
  file: string;
}

export interface CheckMetrics {
  /** Hits are cached verdicts. */
  cache: HitMetrics;
  seconds: Histogram;
}

export interface CheckRequest {
  source: string;
}

/** The type checker. */
export interface CheckerStatus {
  /** The path of the compiler, once found. */
  compiler?: string;
  version?: string;
  pid?: number;
  /** The compiler's resident memory in bytes. */
  rss_bytes?: number;
  /** The number of programs checked since the daemon started. */
  checks: number;
  /** The number of checks whose verdict was cached. */
  cached: number;
  /** Why programs run unchecked. */
  problem?: string;
}

export interface ClientInfo {
  name: string;
  version: string;
}

/** The `params` of MCP's `completion/complete`, with `_meta` as in `CallRequest`. The answer is its result. */
export interface CompleteRequest {
  server: string;
  params: unknown;
}

export interface ConfigProblem {
  /** The line of the problem, if known. */
  line?: number;
  message: string;
  /** The configuration may be right, but a host, path or tool that it names does not exist at the moment. */
  advisory?: boolean;
}

export interface ConfigReport {
  problems: ConfigProblem[];
  /** The number of usable and of disabled entries. */
  servers: number;
}

/** An agent that is connected, as it describes itself. */
export interface ConnectedAgent {
  /** The name and the version of its program. */
  name: string;
  version: string;
  /** The name of its settings in `[agents.NAME]`. */
  agent?: string;
  /** The profile by which output is adapted to it. */
  profile?: string;
  workspace?: string;
}

/** A user's answer to an approval. */
export interface DecideRequest {
  approval: string;
  decision: Decision;
  /** The reason of a denial, for the program. */
  reason?: string;
  /**
   * Other approvals that the user was shown. `session` and `always` also answer the approvals in this list that
   * they cover. Waiting approvals that are not in the list continue to wait.
   */
  shown?: string[];
}

export interface Decided {
  approval: ApprovalInfo;
  /** True if the call was still waiting and continues. If false, `resume_run` continues the run. */
  live: boolean;
  /** The number of calls named in `shown` that are approved with it. */
  released: number;
  /** Approvals that the decision would cover, but that the user was not shown: they continue to wait. */
  unshown?: string[];
  /** Why the decision applies to less than was requested, as a sentence. */
  warning?: string;
}

export type Decision =
  | "deny"
  /** This call, with these arguments. */
  | "once"
  /** This call, and later calls of this tool by this client, until its connection ends. */
  | "session"
  /** This call, and later calls of the current version of this tool, for this agent, until the grant is revoked. */
  | "always";

/** A condition of the host that restricts the daemon. The condition is reported while it lasts. */
export interface Degraded {
  /**
   * `descriptors`, `disk_full`, `read_only`, `missing`, `log`, `audit`, `cache`, `workers`, `clock`, `paused`,
   * `watch`, `no_home` or `environment`. A newer daemon may know others.
   */
  mode: string;
  /** The problem, and the features that do not work. */
  message: string;
  /** The fix. */
  fix: string;
}

export interface DescribeRequest {
  /** `server.tool`, or `server` or `server.group` for all of its tools. */
  paths: string[];
  /** Whether to include the JSON schemas of each tool. */
  schemas?: boolean;
  /** Whether to include the instructions of all known servers, not only of the named servers. */
  all_instructions?: boolean;
}

export interface Description {
  tool: ToolInfo;
  /** TypeScript: its documentation, its signature, the types that it names. */
  declaration: string;
  /**
   * The learned type of the result with its field names. Treat it as data: whoever wrote a result chose the names.
   * Only present if the declaration lacks these names.
   */
  learned?: string;
}

export interface Descriptions {
  tools: Description[];
  /** The instructions of the servers that were named as a whole, where they have any. */
  instructions?: ServerInstructions[];
  /** Unknown paths, each with the reason and similar paths that exist. */
  missing?: Fault[];
}

/** The problems of a program. Empty if there are none. */
export interface Diagnostics {
  /** Errors, any of which prevents a run. */
  errors: Fault[];
  /** Possible errors. */
  warnings: Fault[];
  /** Why the types were not checked, if they were not. */
  unchecked?: string;
}

/** An earlier load. */
export interface EarlierLoad {
  age_ms: number;
  /** The changes of that load, without unchanged servers and problems. */
  report: ReloadReport;
}

export interface Event {
  /** Counts up from 1 within a run. */
  seq: number;
  /** Milliseconds since the run was accepted. */
  at_ms: number;
  event: EventKind;
}

export type EventKind =
  /** The result of the check before the program starts, if there are warnings, or why its types were not checked. */
  | { checked: { warnings?: Fault[]; unchecked?: string } }
  /** The program has an isolate and starts. */
  | { started: Record<string, never> }
  /** A server that this run needs is being started. */
  | { server_starting: { server: string } }
  /** The server is ready. */
  | { server_ready: { server: string; ms: number } }
  | { call_started: { call: number; path: string } }
  /** The server reports the progress of a call. */
  | { call_progress: { call: number; path: string; progress: number; total?: number; message?: string } }
  | {
      call_ended: {
        call: number;
        path: string;
        ms: number;
        /** The length of the result as JSON, in bytes. */
        bytes: number;
        error?: Fault;
      };
    }
  /** A step of a step program starts. Its call has separate events. */
  | { step_started: { step: string; tool: string; description?: string } }
  | {
      step_ended: {
        step: string;
        tool: string;
        ms: number;
        /** The length of the step's result as JSON, in bytes. */
        bytes: number;
        error?: Fault;
      };
    }
  /** A step is skipped because of another step. */
  | { step_skipped: { step: string; tool: string; reason: string } }
  | { console: { level: Level; text: string } }
  /** An image, audio or resource that the program emits besides its result, as a content block of MCP. */
  | { emitted: { part: Held } }
  /** The run resumes this one. This many of its calls had ended, and are not sent again. */
  | { resumed: { run: string; calls: number } }
  /** A call waits for approval, and the clocks of the run are paused. */
  | { approval_asked: ApprovalAsked }
  /** The approval was answered, or timed out. */
  | { approval_over: ApprovalOver }
  /** The requested recording, as JSON to be read with `read`. Comes directly before the end. */
  | { recorded: { recording: Handle } }
  /** The last event of every run. */
  | { ended: { outcome: Outcome } };

/** Events in order, without gaps. */
export interface EventPage {
  events: Event[];
}

export interface EventsRequest {
  run: string;
  /** The number of the last event that the client has; 0 for none. */
  after: number;
  wait_ms: number;
}

/** A hypothetical call. Without arguments, the answer says which rules depend on them. */
export interface ExplainPolicyRequest {
  path: string;
  /** An object. */
  arguments?: unknown;
  /** The arguments as typed on a command line, as in `CallRequest`. */
  typed?: [string, string][];
  agent?: string;
  /** The client's name. Defaults to the requesting client's. */
  client?: string;
  /** The directory in which the client works. Defaults to the requesting client's. */
  workspace?: string;
  /** The content of a `config.toml` whose rules decide instead of the current rules. */
  config?: string;
}

export interface ExplainRequest {
  /** The source of a step program. */
  source: string;
}

export interface Explained {
  /** The equivalent TypeScript. */
  source: string;
}

/** A failure that a person or a program can act on. */
export interface Fault {
  kind: Kind;
  /** A description of the failure, with the values that matter. */
  message: string;
  /** The fix. */
  hint?: string;
  /** The hint for an agent, used instead of `hint`. It names tools where `hint` names commands. */
  agent_hint?: string;
  /** The line in the user's source, counted from 1. */
  line?: number;
  /** The column, counted from 1 in UTF-16 code units. */
  column?: number;
  /** The `server.tool` that failed, if any. */
  path?: string;
  /** True if other code or other arguments can succeed. */
  recoverable: boolean;
  /** Data for programs, such as a tool's own content. */
  details?: unknown;
}

/** For which servers the user wants results to be marked as data. */
export interface FenceInfo {
  /** True if results are marked by default: those of unknown servers, and of servers that are not in `except`. */
  default: boolean;
  /** The servers for which the opposite applies. */
  except?: string[];
}

/** The tools whose learned result types to delete. */
export interface ForgetTypesRequest {
  /** `server` or `server.tool`. All tools if empty. */
  paths?: string[];
}

export interface Forgotten {
  /** The number of tools whose learned types were deleted. */
  tools: number;
}

/** A grant: calls that are always allowed. */
export interface GrantInfo {
  grant: string;
  path: string;
  /** Calls of this agent. Absent for calls of clients that name no agent. */
  agent?: string;
  /** The rule that required the approval. Other rules ask again. */
  rule: string;
  /** The digest of the tool and of its server's address or command: when either changes, the user is asked again. */
  digest: string;
  since_ms: number;
}

/** A value that the daemon has stored because it is too long for a message. */
export interface Handle {
  /** Identifies the value by its content: equal values have the same handle. */
  handle: string;
  /** The length of the JSON, in bytes. */
  bytes: number;
  /** The first 500 characters of the JSON. They are not valid JSON by themselves. */
  preview: string;
  /** Milliseconds from now until the value expires, unless the space is needed before. */
  expires_ms: number;
}

/** A value, or its handle: `{"value": …}` or `{"stored": {"handle": …, …}}`. */
export type Held =
  | {
      /**
       * A JSON value in serialized form. On the wire, it is the value itself.
       * 
       * The text is well-formed JSON, but of any depth, and with numbers of any size: `parse` may still
       * fail.
       */
      value: unknown;
    }
  | { stored: Handle };

/** First message of a connection. */
export interface Hello {
  contract: number;
  build: string;
  client: ClientInfo;
  agent?: string;
  /** The directory in which the client works. */
  workspace?: string;
  /**
   * The requests of this connection come from an agent, regardless of the client's name. As with a connection that
   * names an `agent`, only runs of the same client and agent are found, and error hints name tools, not commands.
   */
  for_agent?: boolean;
  /** The profile by which the client adapts its output to an agent. */
  profile?: string;
  features?: string[];
}

/** Durations in seconds, as a cumulative histogram. */
export interface Histogram {
  count: number;
  sum: number;
  min: number;
  max: number;
  /** By ascending upper bound. */
  buckets: Bucket[];
}

export interface HitMetrics {
  hits: number;
  misses: number;
}

/** An overview of all tools within a budget, shared fairly between the servers. */
export interface Inventory {
  /** The servers with their tool counts and their purpose, as far as there is room. */
  overview: string;
  /** The signatures, for an agent. Begins with COMPLETE, or with PARTIAL and how many of how many signatures follow. */
  text: string;
  /** The number of tools that `text` names. */
  shown: number;
  /** The number of tools whose signature is in `text`. */
  signed: number;
  total: number;
  /** Servers whose tools are known, as programs write them after `mux.`. */
  servers?: string[];
  /** Servers whose tools are not known yet. */
  unknown?: string[];
  /** `profile` of the client's agent in the configuration. */
  profile?: string;
}

export interface InventoryRequest {
  /** The maximum number of tokens of `text` and `overview`; 2,000 if absent. */
  budget_tokens?: number;
  /** The maximum length of `overview`, in UTF-16 code units. No limit if absent. */
  max_overview_chars?: number;
  /** The maximum length of `text`, in UTF-16 code units. No limit if absent. */
  max_chars?: number;
  /** How long to wait for servers whose tools are not known yet, at most 10 s. */
  wait_ms?: number;
}

/** A value to store. */
export interface KeepRequest {
  /**
   * A JSON value in serialized form. On the wire, it is the value itself.
   * 
   * The text is well-formed JSON, but of any depth, and with numbers of any size: `parse` may still
   * fail.
   */
  value: unknown;
}

/** A value in the history. */
export interface KeptValue {
  /** The length of its JSON. */
  bytes: number;
  /** Absent if the value is null, withheld, or too long for this answer. */
  value?: unknown;
  /** The beginning of its JSON, if the value is too long for this answer. */
  preview?: string;
  /** True if the value is not kept: `history = false`. */
  withheld?: boolean;
}

export type Kind =
  /** The program cannot be parsed. Nothing was executed. */
  | "syntax"
  /** The program does not match the tools' types. Nothing was executed. */
  | "type"
  /** The program threw. */
  | "runtime"
  /** A tool reported an error. */
  | "tool"
  /** Arguments or a result do not fit their schema. */
  | "validation"
  /** No such server, tool, run, handle or file. */
  | "not_found"
  /** A time limit was exceeded, which the message names. */
  | "timeout"
  /** The program used too much memory. */
  | "memory"
  /** Another limit was reached, which the message names. */
  | "limit"
  /** All resources are in use; try again. */
  | "busy"
  /** The program waits for something that cannot happen. */
  | "deadlock"
  /** The call or run was cancelled. */
  | "cancelled"
  /** Policy denies it. */
  | "denied"
  /** A user must approve the call, and did not in time. `resume_run` continues the run. */
  | "pending"
  /** The user must log in first. */
  | "auth_required"
  /** The server or the daemon cannot be reached. Nothing was done. */
  | "unavailable"
  /** The call was sent and no answer came: it may or may not have happened. */
  | "unknown_outcome"
  /** An error in muxd itself. */
  | "internal"
  /** A kind that only newer builds know. */
  | (string & {});

/** The language of a program. */
export type Language =
  /** TypeScript or JavaScript. */
  | "typescript"
  /** A step program, `{"steps": [{"id", "tool", "args", "on_error"}]}`. */
  | "json";

export type Level = "debug" | "log" | "info" | "warn" | "error";

export interface LoggedOut {
  server: string;
  /** True if a login existed. */
  was_signed_in: boolean;
  /** True if the authorization server has revoked the tokens. */
  revoked: boolean;
  /** Why they were not revoked, although the server supports it. */
  problem?: string;
}

/** Completes a login whose browser cannot reach the daemon. */
export interface LoginFinishRequest {
  login: string;
  /** The URL to which the browser was redirected. */
  redirect_url: string;
}

export interface LoginRequest {
  server: string;
}

/** A login that was started: the page for the user, and the id to request its outcome with. */
export interface LoginStarted {
  login: string;
  /**
   * The URL to open in a browser: http or https. Empty if the sign-in of another server covers this one: there is no
   * page, and the outcome comes by itself.
   */
  url: string;
  /** The server whose sign-in covers this one. */
  covered_by?: string;
  /** Notes that the user should read before signing in. */
  notes?: string[];
  /** The authorization server, as the server names it. */
  issuer: string;
  /** The port of the loopback interface to which the browser is redirected. */
  redirect_port: number;
  /** Milliseconds until the login expires. */
  expires_ms: number;
}

export interface LoginState {
  server: string;
  /** True while the user has not decided yet. */
  pending: boolean;
  /** The authorization server that issued the tokens. */
  issuer?: string;
  /** Who has signed in, if the authorization server says so. */
  who?: string;
  /** The scopes that were granted. */
  scopes?: string[];
  /** The number of tools that the server lists for this user. */
  tools?: number;
  /** Why the server could not be opened, although the login succeeded. */
  problem?: string;
  /** `auth_required`: the server does not accept the token that was just issued. */
  problem_kind?: Kind;
}

export interface LoginWaitRequest {
  login: string;
  /** 30 s at most. */
  wait_ms: number;
}

/** All metrics of the daemon: counters since its start, and its current state. */
export interface Metrics {
  build: string;
  contract: number;
  engine?: string;
  engine_version?: string;
  uptime_seconds: number;
  /** When the daemon started, in seconds since 1970. */
  started_seconds: number;
  /** Clients that are connected. */
  clients: number;
  /** Calls that wait for approval now. */
  approvals_held: number;
  /** Calls that need approval and that `mux resume` asks about again. */
  approvals_kept: number;
  runs: RunMetrics;
  workers: WorkerMetrics;
  /** Type checks of programs. */
  checks: CheckMetrics;
  /** Reads of the cache of servers and tools. */
  cache_reads: HitMetrics;
  /** By server. `(unknown)` has the calls of unknown servers, `(other)` everything about servers beyond a limit. */
  servers: Record<string, ServerMetrics>;
  /** How long sessions took to open, from the start of the process to the list of tools. */
  session_open_seconds: Histogram;
  /**
   * The longest CPU time of a single poll on a thread of the daemon's runtime since the last read, if polls are
   * measured.
   */
  longest_poll_seconds?: number;
  process: ProcessMetrics;
}

export interface MissingServer {
  server: string;
  error: Fault;
}

export interface Notice {
  /**
   * Counts up from 1 within a connection. A gap means that the client was too slow, and missed notices other than
   * questions.
   */
  seq: number;
  notice: NoticeKind;
}

export type NoticeKind =
  /** The tools, resources or prompts of the servers have changed. */
  | { changed: { tools: boolean; resources: boolean; prompts: boolean } }
  /** A resource has changed to which this connection is subscribed. */
  | { resource_updated: { server: string; uri: string } }
  /** Progress of a call with a token. For a call in a run, the progress is among the run's events. */
  | { progress: { cause: Cause; progress: number; total?: number; message?: string } }
  /** A server's log message, sent while only this connection has calls in flight to it. */
  | {
      log: {
        server: string;
        /** The level as in MCP: `debug` to `emergency`. */
        level: string;
        logger?: string;
        data: unknown;
        cause: Cause;
      };
    }
  /**
   * A server's question to the client whose call caused it. The client answers with `answer`. Without an answer, the
   * call waits until the time limit of the question. A client that shows the question to a user must name the server
   * first, because the question may claim to be from anyone.
   */
  | {
      ask: {
        ask: number;
        /** The server that asks, or `mux` for a question from muxd itself. */
        server: string;
        /** True if the question is muxd's own, even if a server is called `mux`. */
        own?: boolean;
        cause: Cause;
        /**
         * The path of the tool whose call made the server ask, if it is known: a server may have other requests in
         * progress.
         */
        tool?: string;
        kind: AskKind;
        /** The server's own key for the question, if it came with the answer to a call. */
        key?: string;
        /** The `params` of MCP's `elicitation/create`, `sampling/createMessage` or `roots/list`. */
        params: unknown;
      };
    }
  /** The question is no longer open. */
  | { withdrawn: { ask: number } }
  /** A server's question was declined, because the client does not answer this kind, or for the given reason. */
  | { declined: { server: string; kind: AskKind; cause: Cause; why?: string } }
  /** The user has completed the page of a URL elicitation. */
  | {
      elicitation_complete: {
        server: string;
        /** The `elicitationId` of the question. */
        id: string;
        cause: Cause;
      };
    }
  /** A call of this connection waits for approval. For a call in a run, there is also an event of the run. */
  | {
      /** A call that must be approved. */
      approval_asked: {
        cause: Cause;
        approval: string;
        path: string;
        /** The arguments as JSON, or the beginning. */
        arguments: string;
        /** The length of the arguments as JSON, in bytes. */
        bytes: number;
        rule: string;
        reason?: string;
        /** As in `ApprovalInfo.cover`. */
        cover?: string;
        /** Milliseconds until the call fails as `pending`. */
        wait_ms: number;
      };
    }
  /**
   * Another daemon has taken over from this one: a client without work in progress should reconnect, which leads it
   * there.
   */
  | { leaving: Record<string, never> }
  /** The approval was answered, or timed out. */
  | {
      /** The outcome of an approval. */
      approval_over: { cause: Cause; approval: string; path: string; ending: ApprovalEnding };
    };

export interface NoticePage {
  notices: Notice[];
}

/**
 * Waits for notices that this connection has not read yet. The first such request says which questions the client can
 * answer. Before it, no notices are kept for the connection and no questions are sent to it.
 */
export interface NoticesRequest {
  /** The number of the last notice that the client has; 0 for none. Notices up to it are dropped. */
  after: number;
  wait_ms: number;
  /**
   * The kinds of questions that this client can answer for its user. All others are declined on its behalf. An
   * approval is asked in the first of the kinds `approval` and `elicitation` (a form) that is listed.
   */
  answers?: AskKind[];
}

export type OfferKind = "resources" | "resource_templates" | "prompts";

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

export interface OffersRequest {
  kind: OfferKind;
  /** The server to ask, or all servers if absent. */
  server?: string;
  /**
   * How long to wait for each server. Slower servers are listed as missing. If absent: 10 s if all servers are
   * asked, or the maximum duration of a call if one server is asked.
   */
  wait_ms?: number;
}

/** How a run ended. */
export type Outcome =
  | {
      /**
       * A JSON value in serialized form. On the wire, it is the value itself.
       * 
       * The text is well-formed JSON, but of any depth, and with numbers of any size: `parse` may still
       * fail.
       */
      result: unknown;
    }
  /** A result that is too long for a message. Read it with `read`. */
  | { stored: Handle }
  | { error: Fault };

export interface PinInfo {
  /** The tool's name, exactly as the server sends it. */
  name: string;
  standing: PinStanding;
  /** The digest of the tool's current definition, in hexadecimal. Absent if the tool is not pinned. */
  digest?: string;
  /** When the pin was made, in milliseconds since 1970. */
  since_ms?: number;
  /** The trusted definition, as JSON. Absent if the tool is unchanged, or if the definition is not known. */
  before?: string;
  /** The current definition, as JSON. Invisible characters are escaped. */
  now?: string;
  /** Why the tool is offered as trusted although its current definition differs. */
  note?: string;
  /**
   * Where the definitions differ, as paths in the trusted definition: descriptions and arguments first, then hints
   * that permit more, then hints that permit less and added output schemas.
   */
  changed_paths?: string[];
  /** The parts of the current definition that may instruct a model, each as a code and an excerpt. */
  signs?: string[];
}

/** The tools of one server, each with its pin. */
export interface PinList {
  server: string;
  tools: PinInfo[];
}

export type PinStanding =
  /** The tool is as it was trusted. */
  | "trusted"
  /** The tool was added after its server was first trusted, and was not accepted yet. */
  | "new"
  /** The tool has changed since it was trusted, and can be called. */
  | "changed"
  /** The tool has changed since it was trusted, and its calls are refused. */
  | "refused"
  /** The tool is not compared with a pin. */
  | "unpinned";

export interface PinsRequest {
  server: string;
  /** Whether to request a new tool list, and start the server if necessary, instead of using its last list. */
  current?: boolean;
}

/** The decision of a rule on a call, from the most lenient to the strictest. */
export type PolicyAction = "allow" | "ask" | "deny";

export interface PolicyExplanation {
  /** The path of the tool, canonical if the tool is known. */
  path: string;
  known: boolean;
  action: PolicyAction;
  /** The rule that decides. Absent if the default decides. */
  rule?: PolicyRule;
  /** True if an earlier rule applies with some arguments, and no arguments were given. */
  depends?: boolean;
  /** The evaluated rules, in their order. */
  steps: PolicyStep[];
  /** The tool's annotations, by the names that rules use. */
  hints?: [string, boolean][];
  verb?: string;
  notes?: string[];
}

/** The rules in the order of their evaluation. */
export interface PolicyList {
  rules: PolicyRule[];
  /** True if the agent has its own rules instead of the general ones. */
  own: boolean;
  /** The number of calls since the daemon's start to which no rule applied. */
  allowed_by_default: number;
  /** The number of these calls whose tools declare themselves destructive. */
  destructive_by_default: number;
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

export interface PolicyRequest {
  /** The agent whose rules to list. Absent for a client without an agent's name. */
  agent?: string;
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
  /** Why the rule is invalid. An invalid rule denies. */
  mistake?: string;
  /** The agent to which the rule belongs, if it is not a general one. */
  agent?: string;
  /** The project to which the rule belongs, if any. */
  project?: string;
  /** The version of that project's `.mux.toml` that contains the rule. */
  project_text?: ProjectText;
  /** How often the rule has decided since the daemon's start. */
  decided: number;
}

export interface PolicyStep {
  rule: PolicyRule;
  outcome: PolicyOutcome;
  /** The reason, in words. */
  because: string;
}

/** A persistent problem. */
export interface Problem {
  /**
   * The subject: `config`, `server`, `approvals`, `metrics`, `client`, `pins`, `workers`, `cache`, `audit` or
   * `credentials`. Newer daemons may send others.
   */
  code: string;
  /** The server or source that cannot be used, for `server`. */
  server?: string;
  message: string;
  fix: string;
}

/** The daemon's process. The system may not provide all values. */
export interface ProcessMetrics {
  /** User and system time. */
  cpu_seconds?: number;
  resident_bytes?: number;
  virtual_bytes?: number;
  open_fds?: number;
  max_fds?: number;
  threads?: number;
}

/** A file of a project. */
export interface ProjectFile {
  name: string;
  /** The current content. Absent if the file does not exist or cannot be read. */
  text?: string;
  /** The approved content. */
  approved?: string;
}

/** The files of one directory that define servers. */
export interface ProjectInfo {
  /** The project's directory, without symbolic links. */
  root: string;
  state: ProjectState;
  /** The digest of the current files. Absent if one cannot be read. */
  digest?: string;
  files: ProjectFile[];
  servers: ProjectServer[];
  /** Globs of paths that clients in this project may not call, approved or not. */
  denied?: string[];
  /**
   * Globs of tool paths that the approved version denies, although the files have since been changed or deleted.
   * These denials apply until the approval is revoked.
   */
  still_denied?: string[];
  /** Parts of the files without effect, and why. */
  problems?: string[];
}

export interface ProjectList {
  projects: ProjectInfo[];
}

export interface ProjectRevoked {
  /** True if the project was approved. */
  was_approved: boolean;
}

/** A server as its file defines it: with the names of variables and without their values. */
export interface ProjectServer {
  name: string;
  /** The file that defines it. */
  file: string;
  /** The command line or the URL. */
  command: string;
  /** The names of its environment variables. */
  env?: string[];
  headers?: string[];
  /** The commands that are run to obtain values. */
  commands?: string[];
  /** Why the server cannot be used. */
  problem?: string;
}

export type ProjectState =
  | "approved"
  /** The project was never approved. */
  | "new"
  /** The files have changed since they were approved. */
  | "changed"
  /** The project was approved, and its files do not exist any more. */
  | "gone";

/** A version of a project's `.mux.toml`. */
export type ProjectText =
  /** The current version, which is approved. */
  | "current"
  /** The version that was approved last. The file has since been changed or deleted. */
  | "approved"
  /** The current version, which is not approved. */
  | "unapproved";

/** Which projects to list. */
export interface ProjectsRequest {
  /** Lists only the project to which this directory belongs. If absent, all known projects. */
  dir?: string;
}

/** Gets a prompt. The answer is MCP's `GetPromptResult`. */
export interface PromptRequest {
  server: string;
  name: string;
  arguments?: Record<string, unknown>;
  token?: string;
  /** As in `CallRequest`. */
  meta?: Record<string, unknown>;
}

export interface ReadPage {
  /** A page of the JSON. */
  text: string;
  /** The offset of the page, in bytes. */
  offset: number;
  /** The offset of the next page. Absent at the end. */
  next?: number;
  /** The length of the whole JSON, in bytes. */
  total: number;
}

/** Requests a page of a stored value. */
export interface ReadRequest {
  handle: string;
  /**
   * The offset in the JSON, in bytes. An offset within a character is moved back to the character's start. Beyond
   * the end, the page is empty.
   */
  offset?: number;
  /**
   * The length in bytes; 256 KiB if absent, 4 MiB at most. A page ends with a whole character and has at least one,
   * unless 0 is requested, which returns the total only.
   */
  length?: number;
}

/** The changes of a source's reloaded description, by the names of its functions. */
export interface RefreshedSource {
  source: string;
  /** The number of functions now. */
  functions: number;
  added: string[];
  removed: string[];
  changed: string[];
  /** New origins, at which functions are called or tokens are fetched since the reload. */
  origins?: string[];
  /** New remarks for the user since the reload. */
  notes?: string[];
}

export interface ReloadReport {
  /** The servers and sources that this reload added, by name. */
  added: string[];
  removed: string[];
  /** Servers whose definition changed: they restart with the next call. */
  changed: string[];
  unchanged: string[];
  problems: string[];
  /** For each changed server, the keys that differ. */
  reasons?: Record<string, string[]>;
  /** The names above that belong to sources. */
  sources?: string[];
  /** The changes of this reload besides servers and sources. */
  sections?: SectionChange[];
  /**
   * The last load that was not a `reload`, such as that of a file that was saved, if it has changed anything and no
   * `reload` has reported it yet.
   */
  earlier?: EarlierLoad;
}

/** Reads a resource. The answer is MCP's `ReadResourceResult`. */
export interface ResourceRequest {
  server: string;
  uri: string;
  /** The client's own name for this request, by which notices refer to it. */
  token?: string;
  /** As in `CallRequest`. */
  meta?: Record<string, unknown>;
}

/** Which run to resume. */
export interface ResumeRequest {
  /** A run, or an approval. For a call that failed as `pending`, `details.resume`. */
  id: string;
  /** The run does not end with this connection. */
  detach?: boolean;
}

export interface Resumed {
  /**
   * The run to follow with `events`. This is the requested run if it has not ended or cannot be resumed, otherwise
   * a new run.
   */
  run: string;
  /** True if the program starts again and its completed calls are answered from the record. */
  replayed?: boolean;
}

export interface RunCounts {
  running: number;
  succeeded: number;
  failed: number;
}

/** A run as it is listed. The history stores it as JSON, so a new field needs a default. */
export interface RunInfo {
  run: string;
  state: RunState;
  /** The client that started the run, by the name that it gave in `hello`. */
  client: string;
  agent?: string;
  workspace?: string;
  /** True if the run continues when its connection ends. */
  detached?: boolean;
  /** The name that the run was started with, or the comment that the program begins with, or its first line of code. */
  title: string;
  /** When the run was accepted, in milliseconds since the Unix epoch. */
  accepted_ms: number;
  /** Milliseconds from then to the run's end, or to now. */
  ms: number;
  /** The number of tool calls so far. */
  calls: number;
  /** The number of calls that have ended, successfully or not. Calls in flight at the run's end are not counted. */
  calls_ended: number;
  /** The number of calls that ended with an error. */
  calls_failed: number;
  /** The number of calls that wait for an approval now. */
  approvals?: number;
  /** The error of a failed run, without its details: the last event has them. */
  error?: Fault;
  /** The number of the run's last event. */
  events: number;
}

/** A run as the history has it. Secrets are masked. */
export interface RunJournal {
  program: RunProgram;
  /** In the order in which the program made them. */
  calls: CallRecord[];
  /** True if further calls are not kept, because the run's calls exceeded `approvals.log`. */
  incomplete?: boolean;
}

export interface RunJournalRequest {
  /** The run's id, or, for the user's own clients, its number. */
  run: string;
  /** The number of one call in the run's events. Only this call is returned, with complete values. */
  call?: number;
}

/** Runs, the latest first. */
export interface RunList {
  runs: RunInfo[];
  /** The number of matching runs, regardless of the limit. */
  total: number;
}

export interface RunMetrics {
  /** Runs that were accepted. */
  started: number;
  /** Runs that have not ended. */
  running: number;
  /** Runs that have ended, by outcome: `ok`, or the kind of the error. */
  ended: Record<string, number>;
  /** From the acceptance of a run to its end. */
  seconds: Histogram;
}

/** The program of a run. */
export interface RunProgram {
  language?: Language;
  source: string;
  /** The client's name for the program. */
  name?: string;
  input: KeptValue;
  /** The limit of wall time. */
  timeout_ms: number;
}

export interface RunRequest {
  /** The program, in TypeScript or JavaScript unless `language` differs. */
  source: string;
  language?: Language;
  /**
   * The name in run lists, such as the name of the program's file. The daemon shortens it to one line. Defaults to
   * the comment that the program begins with, or its first line of code, also if empty.
   */
  name?: string;
  /** `mux.input`. */
  input?: unknown;
  /** The limit of wall time, 1,000 to 300,000. Defaults to the daemon's setting. */
  timeout_ms?: number;
  /**
   * The W3C trace context of the caller. An invalid context is ignored. Otherwise the calls of the run join this
   * trace, which is passed on to their servers.
   */
  traceparent?: string;
  /** The W3C `tracestate` of the caller. */
  tracestate?: string;
  /**
   * Whether the run continues when this connection ends, and keeps an idle daemon alive. A daemon that is stopped
   * waits for a detached run as for every other run, and then cancels it.
   */
  detach?: boolean;
  /** Whether to skip the type check, regardless of the configuration. */
  no_check?: boolean;
  /**
   * Whether to record the program's input and calls, which the event `recorded`
   * then returns.
   */
  record?: boolean;
  /**
   * A recording to replay: its program is run instead of `source`, its calls are answered from the recording, and
   * nothing is sent to any server. Source, language, input and timeout are taken from the recording.
   */
  replay?: unknown;
}

export interface RunStarted {
  /** The run's id: a random word, a dash, and a number that counts up. */
  run: string;
}

export type RunState =
  | "running"
  | "succeeded"
  | "failed"
  /** The run waits for a worker. */
  | "waiting";

/** Which runs to list. */
export interface RunsRequest {
  /** Whether to list only runs that have not ended. */
  running?: boolean;
  /** The maximum number of runs, the latest first; 20 if absent. There may be fewer if they do not fit into a frame. */
  limit?: number;
}

/** The sandbox of a server. */
export interface SandboxInfo {
  state: SandboxState;
  /** The active layers, after this daemon has started the server. */
  layers?: string[];
  /** The paths that it may read, in addition to its own program and the system's files. */
  read?: string[];
  write?: string[];
  /** `none`, `any`, or the hosts that it may reach. */
  network?: string;
  /** The accesses that were denied lately. */
  denied?: string[];
}

/** Everything that is known about one server's sandbox. */
export interface SandboxProfile {
  server: string;
  /** The settings in its entry, and the accesses that it was denied. */
  sandbox: SandboxInfo;
  /** In bytes, of all its processes together. */
  memory?: number;
  /** The maximum number of processes and threads. */
  processes?: number;
  /** The layers that this machine enforces. */
  enforceable?: string[];
  /**
   * Why the sandbox is not available here. For a server without a sandbox: why it could not have
   * one.
   */
  problem?: string;
  /** Files of the system that a sandbox of this server contains. */
  system?: string[];
  /** Its program, with the package and the interpreter of the program. */
  program?: string[];
  /** Private directories that it may write to, such as for the packages that it fetches. */
  private?: string[];
  /** Its home directory is empty at the start, and deleted when the server ends. */
  empty_home?: boolean;
}

export type SandboxState =
  /** The server runs in a sandbox. */
  | "on"
  /** The server has all of the user's rights, as configured. */
  | "off"
  /** The server has all of the user's rights, because no sandbox is configured. */
  | "bare"
  /** A value that only newer builds know. */
  | "other";

/** The sandbox in which the observed sessions of a server would have worked. */
export interface SandboxSuggestion {
  server: string;
  read?: string[];
  write?: string[];
  /** The hosts that it requested, each with its port. */
  hosts?: string[];
  /** The server needs the whole network, because it connects without a proxy. */
  any_network?: boolean;
  /** The grants that were left out, and the decisions left to the user. */
  remarks?: string[];
}

/** One page of results, best match first. The same tools come in the same order as long as no server's tools change. */
export interface SearchPage {
  results: ToolHit[];
  /** The number of matches on all pages. */
  total: number;
  /** The cursor of the next page. Absent on the last page. */
  next?: string;
  /** Servers whose tools are not known yet, because they were never connected. */
  unknown?: string[];
}

/** The words to search for. They may contain small typos. */
export interface SearchRequest {
  /** The words to search for. White space only matches all tools, in the order of their paths. */
  query: string;
  /** The server whose tools to search. All servers if absent. */
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
  /** How long to wait for servers whose tools are not known yet, at most 10 s. If this is 0, no server is started. */
  wait_ms?: number;
}

/** A secret that was set, or that an entry of the configuration names. */
export interface SecretInfo {
  name: string;
  /** Where the secret is stored. Absent if it is not set. */
  place?: SecretPlace;
  /** When it was set, in milliseconds since 1970. */
  since_ms?: number;
  /** The entries that name it, such as `servers.github`. */
  used_by: string[];
}

export interface SecretList {
  /** The secrets, sorted by name. */
  secrets: SecretInfo[];
  /** Whether new secrets are stored in the system's keyring, instead of the file. */
  keyring: boolean;
  file: string;
  /** Why the keyring is not used, although it is configured. */
  note?: string;
  /** Why the file is not used. */
  problem?: string;
}

/** Where a secret is stored. */
export type SecretPlace =
  /** The system's keyring. */
  | "keyring"
  /** The file `SecretList.file`. */
  | "file";

export interface SecretRemoved {
  name: string;
  was_set: boolean;
  /** The entries that cannot be used without it. */
  used_by: string[];
}

/** The differences in one section of the configuration. */
export interface SectionChange {
  /** Such as `policy`, `limits`, `agents`, `telemetry` or `secrets`. */
  section: string;
  /** Names, or rules as strings. */
  added?: string[];
  removed?: string[];
  /** Keys, or `order` if the rules only have a new order. */
  changed?: string[];
}

/** A tool with the digest of the definition that the user has seen: if it has changed since, it is not accepted. */
export interface SeenTool {
  name: string;
  digest: string;
}

/** Why a server cannot be used. */
export type ServerCause =
  /** The program of its command does not exist. */
  | { kind: "missing_program" }
  /** Its entry refers to a variable that is not set. */
  | { kind: "unset_variable"; name: string }
  /** Its entry refers to a secret that is not set. */
  | { kind: "unset_secret"; name: string }
  /** Its entry refers to a secret that is set, but that its store did not return. */
  | { kind: "unreadable_secret"; name: string }
  /** A value that only newer builds know. */
  | { kind: "other" };

export interface ServerInfo {
  name: string;
  state: ServerState;
  /** Why the server is in that state, where that is not obvious. */
  reason?: string;
  /** More about the reason, shown on request: the directories in which a missing program was searched. */
  detail?: string;
  /** The cause, where the remedy depends on it. */
  cause?: ServerCause;
  /** True if the server has written a log: `mux servers logs NAME`. */
  has_log?: boolean;
  /** The command line, without its environment. */
  command: string;
  pid?: number;
  /** The number of known tools, once a session was open. */
  tools?: number;
  /** The server's name and version as it reports them. */
  identity?: string;
  protocol?: string;
  /** The duration of the last start, from starting the process to the tool list. */
  start_ms?: number;
  /** The number of sessions opened since the daemon started. */
  starts: number;
  calls: number;
  in_flight: number;
  /** `stdio`, `streamable-http` or `sse`, once known. */
  transport?: string;
  /** The scope that shares one session: `user`, `workspace`, `client` or `run`. */
  share?: string;
  /** Why sessions are shared that way, if the configuration does not say. */
  share_reason?: string;
  /** The sessions, for a server that may have several. */
  sessions?: SessionInfo[];
  /** The state of the login, if the server requires one. */
  auth?: AuthState;
  /** The `account` of its entry, which tells logins at one address apart. */
  account?: string;
  /** Who has signed in, according to the authorization server. */
  who?: string;
  /** Milliseconds until the next attempt, while the server is backing off. */
  retry_in_ms?: number;
  /** Warnings for the user, such as tools that have changed. */
  warnings?: ServerWarning[];
  /** The project whose file defines it, for a server from a project. */
  project?: string;
  /** For a source: an API that the daemon calls itself. */
  source?: SourceInfo;
  /** For a server that the daemon starts: the files and hosts that it may reach. */
  sandbox?: SandboxInfo;
}

/** A server's `instructions`. Untrusted text from the server, without invisible characters, 16 KiB at most. */
export interface ServerInstructions {
  server: string;
  text: string;
}

export interface ServerMetrics {
  /** Tool calls that have ended, by outcome: `ok`, or the kind of the error. */
  calls: Record<string, number>;
  in_flight: number;
  /** From sending a call to the answer. */
  call_seconds: Histogram;
  /** By tool. `(other)` has the calls of tools beyond a limit. */
  tools: Record<string, ToolMetrics>;
  /** Sessions by state. Empty if the server no longer exists. */
  sessions: Record<string, number>;
  sessions_opened: number;
  session_failures: number;
  /** Resident memory of its processes, where the system provides it. */
  memory_bytes?: number;
}

/** A server's state, from the most to the least usable. Of several sessions, the best one counts. */
export type ServerState =
  | "ready"
  | "starting"
  /** The server answers, but has a problem. */
  | "degraded"
  /** Not started yet, or closed. */
  | "cold"
  /** The last start failed. The next call tries again. */
  | "failed"
  /** The server could not be started. The next attempt follows after a delay. */
  | "backing_off"
  /** The configuration of this server cannot be used. */
  | "broken"
  /** The configuration disables it: `mux servers enable NAME`. */
  | "disabled";

/** A warning about a server. */
export interface ServerWarning {
  text: string;
  /** The fix. Absent if there is nothing to do: muxd repaired a message that deviates from MCP. */
  fix?: string;
}

/** One session of a server that has several. */
export interface SessionInfo {
  /** The owner of the session: a directory, a client, a run. */
  of: string;
  state: ServerState;
  reason?: string;
  pid?: number;
}

/** Stores the value of a secret and replaces the current value. */
export interface SetSecretRequest {
  name: string;
  /** A string that is never shown. */
  value: string;
}

export interface Setting {
  /** The name as in the configuration file, such as `limits.wall`. */
  name: string;
  value: unknown;
  from: SettingSource;
  /** The line of the configuration file that sets it. */
  line?: number;
  /** The file that sets it, if it is not the configuration file. */
  file?: string;
}

export type SettingSource =
  | "default"
  | "config"
  | "project"
  /** The agent's section of the configuration file. */
  | "agent";

/** The current settings. Values are never secrets. */
export interface SettingsReport {
  /** The configuration file. */
  file: string;
  settings: Setting[];
  /** The settings as a `config.toml`, each value with its origin as a comment. Entries with secrets are comments. */
  text?: string;
  /** Remarks, such as that the configuration has no section for the agent. */
  notes?: string[];
}

export interface SettingsRequest {
  agent?: string;
}

/** The state of a source, in addition to that of a server. */
export interface SourceInfo {
  /** `openapi` or `graphql`. Absent if its entry cannot be read. */
  kind?: string;
  /**
   * When the description was last known to be current, in milliseconds since 1970. Absent for a file, and before
   * the first fetch.
   */
  fetched_ms?: number;
  /** Why a newer description is not used. */
  problem?: string;
  /** The security schemes that the functions need and for which no credential is configured. */
  missing?: string[];
  /**
   * Remarks on the description and the credentials. Each is also among the server's warnings, as the message
   * followed by a semicolon and the fix.
   */
  notes?: SourceNote[];
  /** The number of HTTP requests since the description was read. */
  requests: number;
}

/** A remark on a source, for the user. */
export interface SourceNote {
  text: string;
  /** The fix, if there is exactly one. */
  fix?: string;
}

export interface Started {
  by: StartedBy;
  /** The systemd unit, or the launchd label. */
  service?: string;
  /**
   * True if the listening socket belongs to a service manager, which starts a daemon for every client that
   * connects.
   */
  socket_passed: boolean;
  /** The watchdog timeout: a daemon that does not answer for this long is killed and restarted. */
  watchdog_ms?: number;
}

export type StartedBy =
  | "systemd"
  | "launchd"
  /** A client that needed a daemon. */
  | "client"
  /** A user who ran `muxd`. */
  | "hand"
  /** A value that only newer builds know. */
  | (string & {});

export interface Status {
  build: string;
  contract: number;
  pid: number;
  /** `v8` or `quickjs`. Unknown until a worker has started. */
  engine?: string;
  /** The engine's own version, if it reports one. */
  engine_version?: string;
  uptime_ms: number;
  /** The resident memory of the daemon in bytes, where the system reports it. */
  rss_bytes?: number;
  clients: number;
  /** The agents among the clients. Left out for clients that act for an agent. */
  agents?: ConnectedAgent[];
  workers: WorkerStatus;
  checker: CheckerStatus;
  runs: RunCounts;
  servers: ServerInfo[];
  config: string;
  socket: string;
  log: string;
  /** Persistent problems: a config that does not parse, workers that do not start. */
  problems: Problem[];
  /** The features that the daemon's machine currently prevents. */
  degraded?: Degraded[];
  tokens?: TokenStatus;
  started?: Started;
  telemetry?: TelemetryStatus;
}

export interface StopRequest {
  /** Whether to cancel running programs instead of waiting for them. */
  now?: boolean;
}

/** Subscribes to changes of a resource, or ends the subscription. */
export interface SubscribeRequest {
  server: string;
  uri: string;
  subscribe: boolean;
}

export interface SuggestSandboxRequest {
  server: string;
  /** For how many milliseconds at most its sessions are observed. */
  observe_ms: number;
}

/** The state of the OpenTelemetry exporter, without which a daemon may be built. */
export interface TelemetryStatus {
  built_in: boolean;
  /** The collector that the configuration or the user's environment names. */
  endpoint?: string;
  /** The number of spans that the collector has accepted. */
  sent: number;
  /** The number of spans that did not fit into the queue, or that the collector has not accepted. */
  lost: number;
  /** Why no spans can be sent, or the last ones were not. */
  problem?: string;
}

/** Where tokens are stored. */
export interface TokenStatus {
  /** Whether the tokens are in the system's keyring instead of the file. */
  keyring: boolean;
  file: string;
  /** Why the keyring is not used, although it is configured. */
  note?: string;
}

export interface ToolHit {
  /** As a program writes it after `mux.`. */
  path: string;
  server: string;
  /** The tool's name, exactly as the server sends it. */
  name: string;
  /** The beginning of its description. */
  description?: string;
  /** `files.read(args: {…}): Promise<…>`. */
  signature: string;
  /**
   * How well the tool matches; higher is better. Scores are comparable only within one answer. 0 if the query is
   * empty.
   */
  score: number;
}

export interface ToolInfo {
  /** `server.tool` as a program writes it after `mux.`. */
  path: string;
  server: string;
  /** The tool's name, exactly as the server sends it. */
  name: string;
  title?: string;
  description?: string;
  /** `files.read(args: {…}): Promise<…>`. */
  signature: string;
  read_only?: boolean;
  destructive?: boolean;
  /** All hints of the server, with the schemas. */
  annotations?: unknown;
  input_schema?: unknown;
  output_schema?: unknown;
  /** The number of calls from which the result's type was learned, for a tool that declares none. */
  observed_calls?: number;
  /** True if the tool is offered directly besides programs. */
  direct?: boolean;
  /** True if the tool has changed since it was first trusted. */
  changed?: boolean;
  /**
   * True if the tool is a source's function that cannot be called, because its description uses an address that is
   * not allowed.
   */
  forbidden?: boolean;
  /** True if only pages of its server may call the tool. It is not shown to models. */
  for_apps?: boolean;
  /** The whole MCP `Tool`, as the server sent it. */
  definition?: unknown;
}

export interface ToolList {
  tools: ToolInfo[];
  /** The number of matching tools, regardless of the limit. */
  total: number;
  /** Servers whose tools are not in the list, each with the reason. */
  missing: MissingServer[];
  /** Remarks on unusual names, such as collisions. */
  warnings: string[];
  /** Servers that are not connected. Their tools are from their last session. */
  remembered?: string[];
  /** The instructions of the requested server, if it has any. */
  instructions?: ServerInstructions[];
  /** The servers whose results must be marked as data where a model reads them. */
  fence?: FenceInfo;
}

export interface ToolMetrics {
  ok: number;
  error: number;
  /** Of the calls that were sent, from sending a call to the answer. */
  seconds: Histogram;
}

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
   * Whether to include tools that servers reserve for the pages of MCP Apps. With `definitions`, such tools are
   * always included: clients that get definitions must respect their visibility.
   */
  for_apps?: boolean;
  /**
   * How long to wait for servers whose tools are not known yet. If absent, until they are ready or have failed.
   * Servers that are not ready by then are listed as missing.
   */
  wait_ms?: number;
}

export interface TypesPage {
  /** Identifies the declarations by their content. */
  name: string;
  /** The `.d.ts` file. Absent if the client already has it. */
  text?: string;
}

export interface TypesRequest {
  /** `server` or `server.tool`. All tools if empty. */
  paths?: string[];
}

/** Starts a program and hands over to it. Runs end in the old daemon. */
export interface UpgradeRequest {
  /** The absolute path of the `muxd` to start. */
  binary: string;
  /** The contract that the client speaks, and the new daemon must speak. */
  contract: number;
}

/** The new daemon serves, and accepts all connections from now on. */
export interface Upgraded {
  pid: number;
  build: string;
  contract: number;
  /** Milliseconds from the request until the new daemon served. */
  ms: number;
}

/** Waits until the declarations of all tools differ from the client's. */
export interface WatchTypesRequest {
  /** The name of the declarations that the client has. */
  known?: string;
  wait_ms: number;
}

/** The daemon's answer to `Hello`. */
export interface Welcome {
  contract: number;
  build: string;
  pid: number;
  features: string[];
}

export interface WorkerMetrics {
  ready: number;
  busy: number;
  starting: number;
  /** Programs that wait for a worker. */
  waiting: number;
  started: number;
  start_failures: number;
  ended: number;
  /** How long programs waited for a worker. */
  wait_seconds: Histogram;
}

export interface WorkerStatus {
  ready: number;
  busy: number;
  starting: number;
  waiting: number;
  /**
   * The sandbox layers of a worker besides its engine, by name. Empty until a worker has started, and on systems
   * without sandbox layers.
   */
  layers: string[];
  /** True if isolates are built from a snapshot. */
  snapshot: boolean;
}
