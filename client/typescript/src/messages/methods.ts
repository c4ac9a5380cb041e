// The methods of the daemon, as `proto/src/service.rs` has them, and what each takes and gives.

import type {
  ApprovalList,
  ApprovalsRequest,
  DecideRequest,
  Decided,
  GrantInfo,
  ResumeRequest,
  Resumed,
} from "./approvals.js";
import type { CallRequest, CheckRequest, Diagnostics } from "./calls.js";
import type { Hello, ReloadReport, StopRequest, Welcome } from "./connection.js";
import type {
  DescribeRequest,
  Descriptions,
  Inventory,
  InventoryRequest,
  SearchPage,
  SearchRequest,
} from "./discovery.js";
import type { Held, ReadPage, ReadRequest } from "./held.js";
import type {
  LoggedOut,
  LoginFinishRequest,
  LoginRequest,
  LoginStarted,
  LoginState,
  LoginWaitRequest,
} from "./login.js";
import type { MetricsText } from "./metrics.js";
import type { AnswerRequest, NoticePage, NoticesRequest } from "./notices.js";
import type {
  CompleteRequest,
  OfferList,
  OffersRequest,
  PromptRequest,
  ResourceRequest,
  SubscribeRequest,
} from "./offers.js";
import type { AcceptPinsRequest, AcceptedPins, PinList, PinsRequest } from "./pins.js";
import type { ExplainPolicyRequest, PolicyExplanation, PolicyList, PolicyRequest } from "./policy.js";
import type {
  ApproveProjectRequest,
  ProjectInfo,
  ProjectList,
  ProjectRevoked,
  ProjectsRequest,
} from "./projects.js";
import type {
  EventPage,
  EventsRequest,
  ExplainRequest,
  Explained,
  RunInfo,
  RunList,
  RunRequest,
  RunStarted,
  RunsRequest,
} from "./runs.js";
import type { SecretInfo, SecretList, SecretRemoved, SetSecretRequest } from "./secrets.js";
import type { ServerInfo } from "./servers.js";
import type { CheckConfigRequest, ConfigReport, SettingsReport, SettingsRequest } from "./settings.js";
import type { RefreshedSource } from "./sources.js";
import type { Status } from "./status.js";
import type {
  ForgetTypesRequest,
  Forgotten,
  ToolList,
  ToolsRequest,
  TypesPage,
  TypesRequest,
  WatchTypesRequest,
} from "./tools.js";
import type { UpgradeRequest, Upgraded } from "./upgrade.js";

/** By their names in `hello`; on the wire each is written in upper camel case. */
export interface Methods {
  /** Who is there, on both sides. Anything else before it is refused. */
  hello: { params: { hello: Hello }; answer: Welcome };
  /** A client of another contract asks the daemon to drain and make room for its own. */
  retire: { params: { reason: string }; answer: null };
  /** Everything that `mux status` shows. */
  status: { params: Record<string, never>; answer: Status };
  /**
   * Starts a program and answers at once; what happens is read with `events`. The run ends with this
   * connection, unless it is detached.
   */
  start_run: { params: { request: RunRequest }; answer: RunStarted };
  /**
   * Waits until there are events after `after`, or until `wait_ms` have passed, 30 s at most. Gives about 1
   * MiB of them; the rest is asked for with the number of the last.
   */
  events: { params: { request: EventsRequest }; answer: EventPage };
  /**
   * Stops a run and the calls that it has on their way. Answers before it has ended.
   * Stopping one that has ended is no error.
   */
  cancel_run: { params: { run: string }; answer: null };
  /** What is wrong with a program, without running it. */
  check: { params: { request: CheckRequest }; answer: Diagnostics };
  /** Calls one tool. The call is cancelled if this connection ends. */
  call: { params: { request: CallRequest }; answer: Held };
  /** The tools of all servers, or those that match. */
  tools: { params: { request: ToolsRequest }; answer: ToolList };
  /** The `.d.ts` that a program is written against. */
  types: { params: { request: TypesRequest }; answer: string };
  /** The configured servers and the state of their sessions. */
  servers: { params: Record<string, never>; answer: ServerInfo[] };
  /** Closes a server's session and starts it anew. */
  restart_server: { params: { server: string }; answer: ServerInfo };
  /** Reads the configuration again. */
  reload: { params: Record<string, never>; answer: ReloadReport };
  /** Drains and ends the daemon. Answers before it does. */
  stop: { params: { request: StopRequest }; answer: null };
  /** The runs that have not ended, and those that are kept. */
  runs: { params: { request: RunsRequest }; answer: RunList };
  /** One run, by its id; for the user's own clients also by the number at the end of it. */
  run_info: { params: { run: string }; answer: RunInfo };
  /**
   * A part of a value that was too long for a message. `validation` if the handle is none, `not_found` if
   * nothing is kept under it.
   */
  read: { params: { request: ReadRequest }; answer: ReadPage };
  /**
   * Waits until the declarations of everything are others than those that the client has, or until `wait_ms`
   * have passed, 30 s at most. No server is started for it.
   */
  watch_types: { params: { request: WatchTypesRequest }; answer: TypesPage };
  /** Forgets what was learned of tools' results. It is learned again with the next calls. */
  forget_types: { params: { request: ForgetTypesRequest }; answer: Forgotten };
  /** Tools ranked by how well they fit a few words. */
  search: { params: { request: SearchRequest }; answer: SearchPage };
  /** Everything about a few tools. */
  describe: { params: { request: DescribeRequest }; answer: Descriptions };
  /** What there is, in as many words as a budget allows. */
  inventory: { params: { request: InventoryRequest }; answer: Inventory };
  /** What servers offer beside tools. */
  offers: { params: { request: OffersRequest }; answer: OfferList };
  /** MCP's `ReadResourceResult`. */
  read_resource: { params: { request: ResourceRequest }; answer: Held };
  /** MCP's `GetPromptResult`. */
  get_prompt: { params: { request: PromptRequest }; answer: Held };
  /** MCP's `CompleteResult`. */
  complete: { params: { request: CompleteRequest }; answer: unknown };
  /** Begins or ends to tell this connection when a resource changes. */
  subscribe: { params: { request: SubscribeRequest }; answer: null };
  /** Waits until there is something to tell after `after`, or until `wait_ms` have passed, 30 s at most. */
  notices: { params: { request: NoticesRequest }; answer: NoticePage };
  /** Answers an `Ask`. Nothing happens if nobody waits for it any more. */
  answer: { params: { request: AnswerRequest }; answer: null };
  /** The tools of one server beside what was pinned of them. */
  pins: { params: { request: PinsRequest }; answer: PinList };
  /** Pins tools as they are now. `validation` if one of them is not what was seen. */
  accept_pins: { params: { request: AcceptPinsRequest }; answer: AcceptedPins };
  /** Puts in force what the configuration says now. Unlike `reload` it asks no command again. */
  refresh: { params: Record<string, never>; answer: ReloadReport };
  /** Projects whose files define servers, approved or not. */
  projects: { params: { request: ProjectsRequest }; answer: ProjectList };
  /** Approves what the user has seen. `validation` if it is something else by now. */
  approve_project: { params: { request: ApproveProjectRequest }; answer: ProjectInfo };
  /** Takes an approval back; the project's servers end. */
  revoke_project: { params: { root: string }; answer: ProjectRevoked };
  /** Begins to sign the user in to a server. One that is under way there is given up. */
  login: { params: { request: LoginRequest }; answer: LoginStarted };
  /** Waits for the outcome, or until `wait_ms` have passed. */
  login_wait: { params: { request: LoginWaitRequest }; answer: LoginState };
  /** Hands in by hand what the browser would have brought. */
  login_finish: { params: { request: LoginFinishRequest }; answer: LoginState };
  /** Has the tokens for a server revoked, and forgets them. */
  logout: { params: { server: string }; answer: LoggedOut };
  /**
   * Looks at a source's description now, and puts it in force. If that cannot be had or read, it stays as it
   * was.
   */
  refresh_source: { params: { source: string }; answer: RefreshedSource };
  /** The TypeScript that a program of steps stands for. Nothing is started for it. */
  explain_program: { params: { request: ExplainRequest }; answer: Explained };
  /** Keeps a named secret, and puts it in force where it is named. `validation` if it can be none. */
  set_secret: { params: { request: SetSecretRequest }; answer: SecretInfo };
  /** The names of secrets that were set, and of those that the configuration names. */
  list_secrets: { params: Record<string, never>; answer: SecretList };
  /** Forgets a named secret. The entries that name it cannot be used any more. */
  remove_secret: { params: { name: string }; answer: SecretRemoved };
  /** Calls that wait for somebody, or what was allowed for ever. */
  approvals: { params: { request: ApprovalsRequest }; answer: ApprovalList };
  /** Answers one of them. The first answer counts; `validation` if there was one before. */
  decide: { params: { request: DecideRequest }; answer: Decided };
  /** Takes back what was allowed for ever. */
  revoke_approval: { params: { grant: string }; answer: GrantInfo };
  /** Goes on with a run that ended as `pending`. Calls that had ended are not sent again. */
  resume_run: { params: { request: ResumeRequest }; answer: Resumed };
  /** The rules that are in force for an agent, where this client works. */
  policy: { params: { request: PolicyRequest }; answer: PolicyList };
  /** Which rule would decide a call, and why. The call is not made, and no server is started. */
  explain_policy: { params: { request: ExplainPolicyRequest }; answer: PolicyExplanation };
  /** The settings that are in force for an agent, each with where it comes from. */
  settings: { params: { request: SettingsRequest }; answer: SettingsReport };
  /** What is wrong with a configuration, which is not put in force. No command of it is run. */
  check_config: { params: { request: CheckConfigRequest }; answer: ConfigReport };
  /** Another program takes over, without a gap. Answers when it serves; this daemon ends with its last run. */
  upgrade: { params: { request: UpgradeRequest }; answer: Upgraded };
  /** What happened since the daemon started, in numbers, and what is so now. */
  metrics: { params: Record<string, never>; answer: MetricsText };
}
