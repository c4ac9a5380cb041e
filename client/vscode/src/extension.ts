// What the editor calls: commands, views, and the line "Run" above a program.

import * as vscode from "vscode";

import { type ApprovalView, decided, details } from "./approvals.js";
import { PROGRAM, input } from "./programs.js";
import type { ServerView } from "./servers.js";
import type { Node } from "./tree.js";
import { Checking } from "./ui/checking.js";
import { Approvals, Servers } from "./ui/lists.js";
import { Runs } from "./ui/runs.js";
import { Session } from "./ui/session.js";
import { Types } from "./ui/types.js";

export function activate(context: vscode.ExtensionContext): void {
  const { version } = context.extension.packageJSON as { version: string };
  const session = new Session(version);
  const output = vscode.window.createOutputChannel("muxd");
  const runs = new Runs(session, output);
  context.subscriptions.push(
    session,
    output,
    runs,
    vscode.window.createTreeView("mux.runs", { treeDataProvider: runs }),
    new Approvals(session, "mux.approvals"),
    new Servers(session, "mux.servers"),
    new Checking(session),
    new Types(session),
    vscode.languages.registerCodeLensProvider({ scheme: "file", pattern: `**/*${PROGRAM}` }, { provideCodeLenses: lenses }),
    ...commands(session, runs),
  );
}

function lenses(document: vscode.TextDocument): vscode.CodeLens[] {
  const top = new vscode.Range(0, 0, 0, 0);
  const lens = (title: string, command: string) => new vscode.CodeLens(top, { title, command, arguments: [document.uri] });
  return [lens("$(play) Run", "mux.run"), lens("Run with input", "mux.runWithInput")];
}

function commands(session: Session, runs: Runs): vscode.Disposable[] {
  const approve = (view: ApprovalView, decision: "once" | "session" | "always") =>
    session.attempt(async (mux) => said(decided(await mux.approve(view.id, decision))));
  const all: Record<string, (...args: never[]) => unknown> = {
    "mux.run": async (file?: vscode.Uri) => {
      const document = await program(file);
      if (document !== undefined) await runs.start(document, null);
    },
    "mux.runWithInput": async (file?: vscode.Uri) => {
      const document = await program(file);
      const text = await vscode.window.showInputBox({ prompt: "mux.input, as JSON", validateInput: problem });
      if (document !== undefined && text !== undefined) await runs.start(document, input(text));
    },
    "mux.cancelRun": (node: Node) => runs.cancel(node),
    "mux.clearRuns": () => runs.clear(),
    "mux.showApproval": (view: ApprovalView) => show(session, view),
    "mux.approve": (view: ApprovalView) => approve(view, "once"),
    "mux.approveSession": (view: ApprovalView) => approve(view, "session"),
    "mux.approveAlways": (view: ApprovalView) => approve(view, "always"),
    "mux.deny": async (view: ApprovalView) => {
      const reason = await vscode.window.showInputBox({ prompt: `Why do you deny ${view.label}? The program receives the reason.` });
      if (reason === undefined) return;
      await session.attempt(async (mux) => said(decided(await mux.deny(view.id, reason || undefined))));
    },
    "mux.restartServer": (view: ServerView) =>
      session.attempt(async (mux) => said(`${view.name} is ${(await mux.restartServer(view.name)).state}`)),
  };
  return Object.entries(all).map(([name, act]) => vscode.commands.registerCommand(name, act));
}

/** The program of a file, or of the editor that is in front. */
async function program(file: vscode.Uri | undefined): Promise<vscode.TextDocument | undefined> {
  return file === undefined ? vscode.window.activeTextEditor?.document : vscode.workspace.openTextDocument(file);
}

/** Why a text cannot be an input. */
function problem(text: string): string | undefined {
  try {
    input(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** All of the arguments, in an editor of their own, with what can be answered. */
async function show(session: Session, view: ApprovalView): Promise<void> {
  const approval = await session.attempt((mux) => mux.approval(view.id));
  if (approval === undefined) return;
  const document = await vscode.workspace.openTextDocument({ language: "plaintext", content: details(approval) });
  await vscode.window.showTextDocument(document, { preview: true });
}

function said(text: string): void {
  void vscode.window.showInformationMessage(`muxd: ${text}`);
}
