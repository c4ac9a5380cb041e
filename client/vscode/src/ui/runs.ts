// Runs that were started here: started, followed, shown as trees.

import { basename } from "node:path";

import * as vscode from "vscode";

import { isProgram, shown } from "../programs.js";
import { type Node, type NodeState, RunTree, told } from "../tree.js";
import type { Session } from "./session.js";
import { MuxError } from "@muxd/client";

/** How many runs are kept in the list. */
const KEPT = 20;
/** Events come in bursts; the tree is drawn once a frame or so. */
const DRAWN = 50;

const ICONS: Record<NodeState, vscode.ThemeIcon> = {
  waiting: new vscode.ThemeIcon("watch"),
  running: new vscode.ThemeIcon("loading~spin"),
  done: new vscode.ThemeIcon("pass"),
  failed: new vscode.ThemeIcon("error"),
  note: new vscode.ThemeIcon("output"),
};

export class Runs implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #session: Session;
  readonly #output: vscode.OutputChannel;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  /** The latest first. */
  readonly #runs: { tree: RunTree; stop: AbortController }[] = [];
  #drawing: NodeJS.Timeout | undefined;

  constructor(session: Session, output: vscode.OutputChannel) {
    this.#session = session;
    this.#output = output;
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const foldable = node.children.length > 0;
    const { Expanded, None } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(node.label, foldable ? Expanded : None);
    item.description = node.description;
    item.tooltip = node.tooltip === "" ? `${node.label} ${node.description}` : node.tooltip;
    item.iconPath = ICONS[node.state];
    const run = this.#runs.find(({ tree }) => tree.root === node);
    if (run !== undefined) {
      item.contextValue = run.tree.isOver ? "run" : "run.running";
      const open = [vscode.Uri.file(run.tree.file)];
      item.command = { command: "vscode.open", title: "Open program", arguments: open };
    }
    return item;
  }

  getChildren(node?: Node): Node[] {
    return node === undefined ? this.#runs.map(({ tree }) => tree.root) : node.children;
  }

  /** Runs a program as it stands in the editor, saved or not. */
  async start(document: vscode.TextDocument, input: unknown): Promise<void> {
    if (!isProgram(document.fileName)) {
      void vscode.window.showInformationMessage("muxd: the names of programs end with .mux.ts");
      return;
    }
    const stop = new AbortController();
    const name = basename(document.fileName);
    const run = await this.#session.attempt((mux) => mux.run(document.getText(), { name, input, signal: stop.signal }));
    if (run === undefined) return;
    const title = vscode.workspace.asRelativePath(document.uri);
    const tree = new RunTree(run.id, document.fileName, title);
    this.#runs.unshift({ tree, stop });
    this.#runs.length = Math.min(this.#runs.length, KEPT);
    this.#output.appendLine(`--- ${title} (run ${run.id})`);
    this.#draw();
    try {
      for await (const event of run) {
        tree.apply(event);
        if (event.type === "console") this.#output.appendLine(event.text);
        this.#draw();
      }
      this.#output.appendLine(shown(await run.result()));
    } catch (error) {
      if (!(error instanceof MuxError)) throw error;
      if (!tree.isOver) tree.lost(error.toJSON());
      this.#output.appendLine(told(error.toJSON()));
      this.#draw();
    }
    this.#output.show(true);
  }

  cancel(node: Node): void {
    this.#runs.find(({ tree }) => tree.root === node)?.stop.abort();
  }

  /** Forgets those that have ended. */
  clear(): void {
    const left = this.#runs.filter(({ tree }) => !tree.isOver);
    this.#runs.splice(0, this.#runs.length, ...left);
    this.#changed.fire();
  }

  dispose(): void {
    clearTimeout(this.#drawing);
    this.#changed.dispose();
  }

  #draw(): void {
    this.#drawing ??= setTimeout(() => {
      this.#drawing = undefined;
      this.#changed.fire();
    }, DRAWN);
  }
}
