// Keeps the declarations fresh beside every program of the workspace.

import { dirname } from "node:path";

import * as vscode from "vscode";

import { follow } from "../follow.js";
import { PROGRAM } from "../programs.js";
import { describe } from "../project.js";
import type { Session } from "./session.js";

export class Types implements vscode.Disposable {
  readonly #session: Session;
  #stop = new AbortController();
  #text: string | undefined;
  readonly #subscriptions: vscode.Disposable[];

  constructor(session: Session) {
    this.#session = session;
    const created = vscode.workspace.createFileSystemWatcher(`**/*${PROGRAM}`);
    this.#subscriptions = [
      created,
      created.onDidCreate((program) => (this.#text === undefined ? this.#begin() : this.#write([program]))),
      session.onChange(() => this.#begin()),
    ];
    this.#begin();
  }

  dispose(): void {
    this.#stop.abort();
    for (const subscription of this.#subscriptions) subscription.dispose();
  }

  #begin(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    void this.#follow(this.#stop.signal);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    // Without a program nobody needs a daemon for it.
    if ((await programs(1)).length === 0) return;
    // Servers that were never asked are asked now; later changes come by themselves.
    await this.#session.attempt((mux) => mux.types([], { signal }));
    await follow(
      (signal) => this.#session.mux.watchTypes({ signal, spawn: false }),
      async (types) => {
        if (types === undefined) return;
        this.#text = types.text;
        await this.#write(await programs());
      },
      signal,
    );
  }

  async #write(programs: readonly vscode.Uri[]): Promise<void> {
    if (this.#text === undefined || !vscode.workspace.getConfiguration("mux").get<boolean>("types", true)) return;
    const folders = new Set(programs.filter(({ scheme }) => scheme === "file").map(({ fsPath }) => dirname(fsPath)));
    for (const folder of folders) {
      try {
        await describe(folder, this.#text);
      } catch (error) {
        void vscode.window.showWarningMessage(`muxd: cannot write types to ${folder}: ${(error as Error).message}`);
      }
    }
  }
}

/** The programs of the workspace. */
function programs(most?: number): Thenable<vscode.Uri[]> {
  return vscode.workspace.findFiles(`**/*${PROGRAM}`, "**/node_modules/**", most);
}
