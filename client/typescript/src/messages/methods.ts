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
  /** Introduces both sides. Any other request before it is refused. */
  hello: { params: { hello: Hello }; answer: Welcome };
  /** A client of another contract asks the daemon to drain and make room for its own. */
  retire: { params: { reason: string }; answer: null };
  /** Everything that `mux status` shows. */
  status: { params: Record<string, never>; answer: Status };
  /**
   * Starts a program and answers at once. The run's events are read with `events`. It ends with this
   * connection, unless it is detached.
   */
  start_run: { params: { request: RunRequest }; answer: RunStarted };
  /**
   * Waits until there are events after `after`, or until `wait_ms` have passed, 30 s at most. Returns about 1 MiB of
   * them; the rest is requested with the number of the last.
   */
  events: { params: { request: EventsRequest }; answer: EventPage };
  /**
   * Cancels a run and its calls in flight. Answers before the run has ended. Cancelling a run that has ended is no
   * error.
   */
  cancel_run: { params: { run: string }; answer: null };
  /** Checks a program without running it. */
  check: { params: { request: CheckRequest }; answer: Diagnostics };
  /** Calls one tool. The call is cancelled if this connection ends. */
  call: { params: { request: CallRequest }; answer: Held };
  /** The tools of all servers, or those that match. */
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
  /** The runs that have not ended, and ended ones that are kept. */
  runs: { params: { request: RunsRequest }; answer: RunList };
  /** One run, by its id; for the user's own clients also by the number at the end of the id. */
  run_info: { params: { run: string }; answer: RunInfo };
  /** A page of a stored value. `validation` if the handle is malformed, `not_found` if no value is stored under it. */
  read: { params: { request: ReadRequest }; answer: ReadPage };
  /**
   * Waits until the declarations of all tools differ from those that the client has, or until `wait_ms` have passed, 30
   * s at most. Starts no server.
   */
  watch_types: { params: { request: WatchTypesRequest }; answer: TypesPage };
  /** Deletes the learned types of tools' results. They are learned again with the next calls. */
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
  /** Answers an `Ask`. Does nothing if the question is no longer open. */
  answer: { params: { request: AnswerRequest }; answer: null };
  /** The tools of one server, each with its pin. */
  pins: { params: { request: PinsRequest }; answer: PinList };
  /** Pins tools as they are now. `validation` if one of them is not as it was seen. */
  accept_pins: { params: { request: AcceptPinsRequest }; answer: AcceptedPins };
  /** Loads the configuration files as they are now. Unlike `reload`, it does not run the commands in them again. */
  refresh: { params: Record<string, never>; answer: ReloadReport };
  /** Projects whose files define servers, approved or not. */
  projects: { params: { request: ProjectsRequest }; answer: ProjectList };
  /** Approves a project's files as the user has seen them. `validation` if they have changed since. */
  approve_project: { params: { request: ApproveProjectRequest }; answer: ProjectInfo };
  /** Revokes a project's approval; the project's servers end. */
  revoke_project: { params: { root: string }; answer: ProjectRevoked };
  /** Starts a login to a server. One that is in progress there is cancelled. */
  login: { params: { request: LoginRequest }; answer: LoginStarted };
  /** Waits for the outcome of a login, or until `wait_ms` have passed. */
  login_wait: { params: { request: LoginWaitRequest }; answer: LoginState };
  /** Completes a login by hand, with the URL to which the browser was redirected. */
  login_finish: { params: { request: LoginFinishRequest }; answer: LoginState };
  /** Revokes and deletes the tokens for a server. */
  logout: { params: { server: string }; answer: LoggedOut };
  /** Reloads a source's description. If it cannot be fetched or parsed, the present one stays in force. */
  refresh_source: { params: { source: string }; answer: RefreshedSource };
  /** The TypeScript that is equivalent to a step program. Starts nothing. */
  explain_program: { params: { request: ExplainRequest }; answer: Explained };
  /** Stores a named secret, and puts it in force where it is named. `validation` if the name or value is invalid. */
  set_secret: { params: { request: SetSecretRequest }; answer: SecretInfo };
  /** The names of secrets that were set, and of those that the configuration names. */
  list_secrets: { params: Record<string, never>; answer: SecretList };
  /** Deletes a named secret. The entries that name it cannot be used any more. */
  remove_secret: { params: { name: string }; answer: SecretRemoved };
  /** Calls that wait for approval, or, for the user's own clients, the calls that are always allowed. */
  approvals: { params: { request: ApprovalsRequest }; answer: ApprovalList };
  /** Answers an approval. The first answer counts; `validation` if there was one before. */
  decide: { params: { request: DecideRequest }; answer: Decided };
  /** Revokes a grant that always allows a tool's calls. For the user's own clients. */
  revoke_approval: { params: { grant: string }; answer: GrantInfo };
  /** Resumes a run that ended as `pending`. Calls that had ended are not sent again. */
  resume_run: { params: { request: ResumeRequest }; answer: Resumed };
  /** The rules that are in force for an agent, where this client works. */
  policy: { params: { request: PolicyRequest }; answer: PolicyList };
  /** Which rule would decide a call, and why. The call is not sent, and no server is started. */
  explain_policy: { params: { request: ExplainPolicyRequest }; answer: PolicyExplanation };
  /** The settings that are in force for an agent, each with its origin. */
  settings: { params: { request: SettingsRequest }; answer: SettingsReport };
  /** The problems of a configuration, which is not put in force. None of its commands is run. */
  check_config: { params: { request: CheckConfigRequest }; answer: ConfigReport };
  /** Hands over to another program, without a gap. Answers when it serves; this daemon exits with its last run. */
  upgrade: { params: { request: UpgradeRequest }; answer: Upgraded };
  /** The daemon's metrics: counters since its start, and its present state. */
  metrics: { params: Record<string, never>; answer: MetricsText };
}
