// The lists of approvals and of servers, each kept fresh for as long as somebody looks at it.

import type { ApprovalInfo, ServerInfo } from "@muxd/client";
import * as vscode from "vscode";

import { type ApprovalView, approvalViews } from "../approvals.js";
import { follow } from "../follow.js";
import { type ServerView, serverViews } from "../servers.js";
import type { Session } from "./session.js";

/** The states of servers are looked at so often. */
const LOOK = 2_000;

/** A list whose items come from the daemon. */
abstract class List<T, V> implements vscode.TreeDataProvider<V>, vscode.Disposable {
  protected readonly session: Session;
  #items: V[] = [];
  #stop: AbortController | undefined;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<V>;
  readonly #subscriptions: vscode.Disposable[];

  constructor(session: Session, id: string) {
    this.session = session;
    this.#view = vscode.window.createTreeView(id, { treeDataProvider: this });
    this.#subscriptions = [
      this.#view,
      this.#view.onDidChangeVisibility(() => this.#begin()),
      session.onChange(() => this.#begin()),
    ];
    this.#begin();
  }

  abstract getTreeItem(view: V): vscode.TreeItem;
  protected abstract watch(signal: AbortSignal): AsyncIterable<T[]>;
  protected abstract views(items: T[]): V[];
  /** Whether it is followed while nobody looks at it. */
  protected abstract readonly always: boolean;
  /** How many are to be seen at the icon. */
  protected badge(_views: V[]): number {
    return 0;
  }

  getChildren(view?: V): V[] {
    return view === undefined ? this.#items : [];
  }

  dispose(): void {
    this.#stop?.abort();
    for (const subscription of this.#subscriptions) subscription.dispose();
    this.#changed.dispose();
  }

  #begin(): void {
    this.#stop?.abort();
    this.#stop = undefined;
    if (!this.#view.visible && !this.always) return;
    this.#stop = new AbortController();
    void follow(
      (signal) => this.watch(signal),
      (items) => {
        this.#items = this.views(items ?? []);
        this.#view.message = items === undefined ? "no muxd is running" : "";
        const badge = this.badge(this.#items);
        this.#view.badge = badge > 0 ? { value: badge, tooltip: `needs attention: ${badge}` } : undefined;
        this.#changed.fire();
      },
      this.#stop.signal,
    );
  }
}

export class Approvals extends List<ApprovalInfo, ApprovalView> {
  protected get always(): boolean {
    return true;
  }

  getTreeItem(view: ApprovalView): vscode.TreeItem {
    const item = new vscode.TreeItem(view.label);
    item.description = view.description;
    item.tooltip = new vscode.MarkdownString().appendCodeblock(view.details, "text");
    item.iconPath = new vscode.ThemeIcon(view.open ? "question" : "check");
    item.contextValue = view.open ? "approval.open" : "approval";
    item.command = { command: "mux.showApproval", title: "Show arguments", arguments: [view] };
    return item;
  }

  protected watch(signal: AbortSignal): AsyncIterable<ApprovalInfo[]> {
    return this.session.mux.watchApprovals({ signal, spawn: false });
  }

  protected views(approvals: ApprovalInfo[]): ApprovalView[] {
    return approvalViews(approvals);
  }

  protected override badge(views: ApprovalView[]): number {
    return views.filter((view) => view.open).length;
  }
}

export class Servers extends List<ServerInfo, ServerView> {
  protected get always(): boolean {
    return false;
  }

  getTreeItem(view: ServerView): vscode.TreeItem {
    const item = new vscode.TreeItem(view.name);
    item.description = view.description;
    item.tooltip = view.details;
    item.iconPath = new vscode.ThemeIcon(view.icon);
    item.contextValue = view.restarts ? "server.restarts" : "server";
    return item;
  }

  protected async *watch(signal: AbortSignal): AsyncGenerator<ServerInfo[], void> {
    while (!signal.aborted) {
      yield (await this.session.mux.status()).servers;
      await new Promise((resolve) => setTimeout(resolve, LOOK));
    }
  }

  protected views(servers: ServerInfo[]): ServerView[] {
    return serverViews(servers);
  }
}
