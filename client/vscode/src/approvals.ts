// Calls that wait for somebody, as a list shows them.
//
// Invariant: whoever decides has seen the arguments: all of them, or that it is only their beginning.

import { type ApprovalInfo, type Decided, programPath } from "@muxd/client";

export interface ApprovalView {
  id: string;
  label: string;
  description: string;
  /** The arguments, and why somebody is asked. */
  details: string;
  /** It can still be decided. */
  open: boolean;
}

export function approvalViews(approvals: ApprovalInfo[]): ApprovalView[] {
  return approvals.map((approval) => ({
    id: approval.approval,
    label: programPath(approval.path),
    description: `${approval.approval}, ${standing(approval)}, for ${whose(approval)}`,
    details: details(approval),
    open: approval.state === "waiting" || approval.state === "pending",
  }));
}

/** Everything about one, for a question or a page. */
export function details(approval: ApprovalInfo): string {
  const path = programPath(approval.path);
  const lines = [`${path}(${argumentsOf(approval)})`, "", `asked by ${whose(approval)}`];
  // Two tools of a server may be written alike.
  if (path !== approval.path) lines.push(`its server calls it ${approval.path}`);
  if (approval.workspace !== undefined) lines.push(`working in ${approval.workspace}`);
  if (approval.run !== undefined) lines.push(`in run ${approval.run}`);
  lines.push(`because of ${approval.rule}`);
  if (approval.reason !== undefined) lines.push(approval.reason);
  return lines.join("\n");
}

/** What became of a decision, in one sentence. */
export function decided({ approval, live, released = 0, warning }: Decided): string {
  const verb = approval.state === "denied" ? "denied" : "approved";
  const parts = [`${programPath(approval.path)} is ${verb}`];
  if (!live && verb === "approved") parts.push("its program has ended: `mux resume` continues it");
  if (released > 0) parts.push(`${released} more ${released === 1 ? "call continues" : "calls continue"}`);
  if (warning !== undefined) parts.push(warning);
  return parts.join("; ");
}

function argumentsOf({ arguments: whole, preview, bytes }: ApprovalInfo): string {
  if (whole !== undefined) return JSON.stringify(whole, undefined, 2);
  return `${preview ?? ""}… (the beginning of ${bytes} bytes)`;
}

function whose({ client, agent }: ApprovalInfo): string {
  return agent === undefined ? client : `${client} (${agent})`;
}

function standing({ state, left_ms }: ApprovalInfo): string {
  if (state === "waiting" && left_ms !== undefined) return `waiting, ${Math.ceil(left_ms / 1000)} s left`;
  return state === "pending" ? "not answered in time" : state;
}
