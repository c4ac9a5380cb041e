// Marks what is wrong with programs, as they are typed and saved.
//
// Invariant: what is marked belongs to the text that stands in the editor, never to an older one.

import { MuxError } from "@muxd/client";
import * as vscode from "vscode";

import { type Mark, marks } from "../diagnostics.js";
import { isProgram } from "../programs.js";
import type { Session } from "./session.js";

/** Whoever types faster is not looked at in between. */
const PAUSE = 400;

const SEVERITY: Record<Mark["severity"], vscode.DiagnosticSeverity> = {
  error: vscode.DiagnosticSeverity.Error,
  warning: vscode.DiagnosticSeverity.Warning,
  hint: vscode.DiagnosticSeverity.Hint,
};

export class Checking implements vscode.Disposable {
  readonly #session: Session;
  readonly #marks = vscode.languages.createDiagnosticCollection("mux");
  /** The checks that are due or on their way, by document. */
  readonly #due = new Map<string, { timer: NodeJS.Timeout; stop: AbortController }>();
  readonly #subscriptions: vscode.Disposable[];

  constructor(session: Session) {
    this.#session = session;
    this.#subscriptions = [
      this.#marks,
      vscode.workspace.onDidOpenTextDocument((document) => this.#soon(document, 0)),
      vscode.workspace.onDidSaveTextDocument((document) => this.#soon(document, 0)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.#typed(document)),
      vscode.workspace.onDidCloseTextDocument((document) => this.#forget(document)),
      session.onChange(() => this.#all()),
    ];
    this.#all();
  }

  dispose(): void {
    for (const key of [...this.#due.keys()]) this.#drop(key);
    for (const subscription of this.#subscriptions) subscription.dispose();
  }

  #all(): void {
    for (const document of vscode.workspace.textDocuments) this.#soon(document, 0);
  }

  #typed(document: vscode.TextDocument): void {
    const onType = vscode.workspace.getConfiguration("mux").get<boolean>("checkOnType", true);
    if (onType) this.#soon(document, PAUSE);
    else this.#marks.delete(document.uri);
  }

  #soon(document: vscode.TextDocument, pause: number): void {
    if (document.uri.scheme !== "file" || !isProgram(document.fileName)) return;
    const key = document.uri.toString();
    this.#drop(key);
    const stop = new AbortController();
    const timer = setTimeout(() => void this.#check(document, stop.signal), pause);
    this.#due.set(key, { timer, stop });
  }

  async #check(document: vscode.TextDocument, signal: AbortSignal): Promise<void> {
    const { version, uri } = document;
    const text = document.getText();
    try {
      const found = marks(await this.#session.mux.check(text, { signal }), text);
      if (signal.aborted || document.version !== version) return;
      this.#marks.set(uri, found.map((mark) => diagnostic(mark)));
    } catch (error) {
      // Whoever runs the program is told what is the matter; a note at each letter would be too much.
      if (!(error instanceof MuxError)) throw error;
    }
  }

  #forget(document: vscode.TextDocument): void {
    this.#drop(document.uri.toString());
    this.#marks.delete(document.uri);
  }

  #drop(key: string): void {
    const due = this.#due.get(key);
    clearTimeout(due?.timer);
    due?.stop.abort();
    this.#due.delete(key);
  }
}

function diagnostic({ line, start, end, message, code, severity }: Mark): vscode.Diagnostic {
  const found = new vscode.Diagnostic(new vscode.Range(line, start, line, end), message, SEVERITY[severity]);
  found.source = "muxd";
  found.code = code;
  return found;
}
