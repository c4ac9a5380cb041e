// What all parts of the extension share: the client, made again when its settings change, and words to the user.

import { Mux, MuxError, type Verdict, programPath } from "@muxd/client";
import * as vscode from "vscode";

import { told } from "../tree.js";

export class Session implements vscode.Disposable {
  #mux: Mux | undefined;
  readonly #changed = new vscode.EventEmitter<void>();
  /** Settings changed: whatever was followed is followed anew. */
  readonly onChange = this.#changed.event;
  readonly #subscription: vscode.Disposable;
  readonly #version: string;

  constructor(version: string) {
    this.#version = version;
    this.#subscription = vscode.workspace.onDidChangeConfiguration((change) => {
      if (!["mux.daemon", "mux.home", "mux.agent"].some((name) => change.affectsConfiguration(name))) return;
      this.#mux?.close();
      this.#mux = undefined;
      this.#changed.fire();
    });
  }

  get mux(): Mux {
    return (this.#mux ??= this.#make());
  }

  /** Does something, and tells the user if it fails. */
  async attempt<T>(work: (mux: Mux) => Promise<T>): Promise<T | undefined> {
    try {
      return await work(this.mux);
    } catch (error) {
      if (!(error instanceof MuxError)) throw error;
      void vscode.window.showErrorMessage(`muxd: ${told(error.toJSON())}`);
      return undefined;
    }
  }

  dispose(): void {
    this.#subscription.dispose();
    this.#changed.dispose();
    this.#mux?.close();
  }

  #make(): Mux {
    const settings = vscode.workspace.getConfiguration("mux");
    const text = (name: string) => settings.get<string>(name)?.trim() || undefined;
    const [daemon, home, agent] = [text("daemon"), text("home"), text("agent")];
    const workspace = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    return new Mux({
      name: "vscode",
      version: this.#version,
      approver: ask,
      ...(daemon === undefined ? {} : { daemon }),
      ...(home === undefined ? {} : { home }),
      ...(agent === undefined ? {} : { agent }),
      ...(workspace === undefined ? {} : { workspace }),
    });
  }
}

/** A call of a program that was started here: its user is asked with a question that shows the arguments. */
async function ask(
  asked: { path: string; arguments: string; bytes: number; reason?: string },
  signal: AbortSignal,
): Promise<Verdict | undefined> {
  const whole = Buffer.byteLength(asked.arguments) >= asked.bytes;
  const shown = whole ? asked.arguments : `${asked.arguments}… (the beginning of ${asked.bytes} bytes)`;
  const path = programPath(asked.path);
  const answers = { "Allow once": "once", "Allow for this session": "session", Deny: "deny" } as const;
  const covers = `\u201cAllow for this session\u201d also allows later calls of ${path} with any arguments until this window closes.`;
  const own = path === asked.path ? [] : [`Its server calls it ${asked.path}.`];
  const detail = [shown, ...own, ...(asked.reason === undefined ? [] : [asked.reason]), covers].join("\n\n");
  const names = Object.keys(answers) as (keyof typeof answers)[];
  const chosen = await vscode.window.showWarningMessage(`Allow ${path}?`, { modal: true, detail }, ...names);
  // Escape decides nothing: the call waits in the list of approvals.
  return chosen === undefined || signal.aborted ? undefined : { decision: answers[chosen] };
}
