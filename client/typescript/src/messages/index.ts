// All messages of the contract. What is optional here may be absent; what is not known here may come.

export type * from "./approvals.js";
export type * from "./calls.js";
export type * from "./connection.js";
export type * from "./discovery.js";
export type * from "./events.js";
export type * from "./held.js";
export type * from "./login.js";
export type * from "./methods.js";
export type * from "./metrics.js";
export type * from "./notices.js";
export type * from "./offers.js";
export type * from "./pins.js";
export type * from "./policy.js";
export type * from "./projects.js";
export type * from "./runs.js";
export type * from "./secrets.js";
export type * from "./servers.js";
export type * from "./settings.js";
export type * from "./sources.js";
export type * from "./status.js";
export type * from "./tools.js";
export type * from "./upgrade.js";
