// What a run shows: the run itself, below it its calls, steps, console and questions, live from its events.
//
// Invariant: a node is made once and then changes, so that what a user has opened stays open.

import { type Fault, type RunEvent, programPath } from "@muxd/client";

export type NodeState = "waiting" | "running" | "done" | "failed" | "note";

export class Node {
  label: string;
  description = "";
  tooltip = "";
  state: NodeState;
  readonly children: Node[] = [];

  constructor(label: string, state: NodeState) {
    this.label = label;
    this.state = state;
  }
}

/** One run. */
export class RunTree {
  readonly root: Node;
  readonly id: string;
  /** The program that runs, for whoever opens it again. */
  readonly file: string;
  readonly #calls = new Map<number, Node>();
  readonly #steps = new Map<string, Node>();
  readonly #servers = new Map<string, Node>();
  readonly #approvals = new Map<string, Node>();
  /** Calls that wait for an approval. */
  #waits = 0;

  constructor(id: string, file: string, title: string) {
    this.id = id;
    this.file = file;
    this.root = new Node(title, "waiting");
    this.root.description = "waiting for a worker";
  }

  get isOver(): boolean {
    return this.root.state === "done" || this.root.state === "failed";
  }

  /** Takes the next event. An event that this build does not know changes nothing. */
  apply(event: RunEvent): void {
    switch (event.type) {
      case "checked":
        for (const warning of event.warnings ?? []) this.#note(`warning: ${warning.message}`, where(warning));
        if (event.unchecked !== undefined) this.#note("types were not checked", event.unchecked);
        return;
      case "started":
        this.root.state = "running";
        this.root.description = "running";
        return;
      case "server_starting":
        this.#begin(this.#servers, event.server, `${event.server} starts`);
        return;
      case "server_ready":
        this.#end(this.#servers, event.server, milliseconds(event.ms));
        return;
      case "call_started":
        this.#begin(this.#calls, event.call, programPath(event.path));
        return;
      case "call_progress":
        this.#change(this.#calls.get(event.call), progress(event));
        return;
      case "call_ended":
        this.#end(this.#calls, event.call, ended(event.ms, event.bytes), event.error);
        return;
      case "step_started":
        this.#begin(this.#steps, event.step, `step ${event.step}: ${event.tool}`);
        return;
      case "step_ended":
        this.#end(this.#steps, event.step, ended(event.ms, event.bytes), event.error);
        return;
      case "step_skipped":
        this.#note(`step ${event.step}: ${event.tool}`, `skipped: ${event.reason}`);
        return;
      case "console":
        this.#note(event.text, event.level);
        return;
      case "emitted":
        this.#note("part", "stored" in event.part ? `${event.part.stored.bytes} bytes` : kindOf(event.part.value));
        return;
      case "resumed":
        this.#note(`continues ${event.run}`, `${event.calls} calls are not repeated`);
        return;
      case "approval_asked":
        this.#begin(this.#approvals, event.approval, `${programPath(event.path)} is waiting for approval`).tooltip = event.arguments;
        this.#waits += 1;
        this.root.description = "waiting for approval";
        return;
      case "approval_over":
        this.#end(this.#approvals, event.approval, event.ending);
        this.#waits = Math.max(0, this.#waits - 1);
        if (this.#waits === 0) this.root.description = "running";
        return;
      case "ended":
        this.#over(event.outcome, event.at_ms);
        return;
    }
  }

  /** It cannot be followed any more. */
  lost(fault: Fault): void {
    this.#over({ error: fault }, undefined);
  }

  #over(outcome: { result: unknown } | { stored: { bytes: number } } | { error: Fault }, ms: number | undefined): void {
    const took = ms === undefined ? "" : ` after ${milliseconds(ms)}`;
    if ("error" in outcome) {
      this.root.state = "failed";
      this.root.description = `failed (${outcome.error.kind})${took}`;
      this.root.tooltip = told(outcome.error);
    } else {
      this.root.state = "done";
      this.root.description = "stored" in outcome ? `${outcome.stored.bytes} bytes${took}` : `ended${took}`;
    }
    // What was on its way when the run ended never ends.
    for (const node of this.root.children) {
      if (node.state !== "running") continue;
      node.state = "failed";
      node.description = "was in flight";
    }
  }

  #begin<K>(nodes: Map<K, Node>, key: K, label: string): Node {
    const node = new Node(label, "running");
    nodes.set(key, node);
    this.root.children.push(node);
    return node;
  }

  #end<K>(nodes: Map<K, Node>, key: K, description: string, error?: Fault): void {
    const node = nodes.get(key);
    if (node === undefined) return;
    node.state = error === undefined ? "done" : "failed";
    node.description = error === undefined ? description : `${error.kind}: ${error.message}`;
    if (error !== undefined) node.tooltip = told(error);
  }

  #change(node: Node | undefined, description: string): void {
    if (node !== undefined) node.description = description;
  }

  #note(label: string, description: string): void {
    const node = new Node(label, "note");
    node.description = description;
    this.root.children.push(node);
  }
}

/** A failure in words: what, and what to do about it. */
export function told(fault: Fault): string {
  const place = where(fault);
  return [`${fault.kind}: ${fault.message}`, place, fault.hint === undefined ? "" : `hint: ${fault.hint}`]
    .filter((line) => line !== "")
    .join("\n");
}

function where({ line, column }: Fault): string {
  return line === undefined ? "" : `line ${line}${column === undefined ? "" : `:${column}`}`;
}

function milliseconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms * 10) / 10} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function ended(ms: number, bytes: number): string {
  return `${milliseconds(ms)}, ${bytes} bytes`;
}

function progress({ progress, total, message }: { progress: number; total?: number; message?: string }): string {
  const part = total === undefined ? `${progress}` : `${progress} of ${total}`;
  return message === undefined ? part : `${part}: ${message}`;
}

/** Of a content block of MCP. */
function kindOf(part: unknown): string {
  const type = (part as { type?: unknown } | null)?.type;
  return typeof type === "string" ? type : "value";
}
