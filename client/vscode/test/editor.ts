// As much of VS Code as the extension uses, without a window: what it registers can be looked at and called.

type Listener = (event: unknown) => void;

export class EventEmitter {
  readonly #listeners = new Set<Listener>();
  readonly event = (listener: Listener) => {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  };
  fire(event?: unknown): void {
    for (const listener of this.#listeners) listener(event);
  }
  dispose(): void {
    this.#listeners.clear();
  }
}

export class TreeItem {
  constructor(
    readonly label: string,
    readonly collapsibleState?: number,
  ) {}
}
export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 };
export class ThemeIcon {
  constructor(readonly id: string) {}
}
export class Range {
  constructor(
    readonly line: number,
    readonly start: number,
    readonly endLine: number,
    readonly end: number,
  ) {}
}
export class CodeLens {
  constructor(
    readonly range: Range,
    readonly command: { title: string; command: string },
  ) {}
}
export class Diagnostic {
  constructor(
    readonly range: Range,
    readonly message: string,
    readonly severity: number,
  ) {}
}
export const DiagnosticSeverity = { Error: 0, Warning: 1, Information: 2, Hint: 3 };
export class MarkdownString {
  value = "";
  appendCodeblock(text: string): this {
    this.value += text;
    return this;
  }
}
export const Uri = { file: (fsPath: string) => ({ fsPath, scheme: "file", toString: () => `file://${fsPath}` }) };

export interface Provider {
  getChildren(node?: unknown): { label?: string; name?: string }[];
  getTreeItem(node: unknown): TreeItem & { contextValue?: string; description?: string };
}

/** What the extension has done so far, and what a user would do. */
export const seen = {
  commands: new Map<string, (...args: unknown[]) => unknown>(),
  views: new Map<string, Provider>(),
  lenses: [] as { provideCodeLenses(document: unknown): CodeLens[] }[],
  diagnostics: new Map<string, Diagnostic[]>(),
  output: [] as string[],
  messages: [] as string[],
  settings: {} as Record<string, unknown>,
  documents: [] as unknown[],
  opened: new EventEmitter(),
  changed: new EventEmitter(),
  /** What the user answers to a question. */
  answer: undefined as string | undefined,
};

const nothing = { dispose: () => undefined };
const never = () => nothing;
const say = (message: string, ..._: unknown[]) => {
  seen.messages.push(message);
  return Promise.resolve(seen.answer);
};

export const window = {
  createOutputChannel: () => ({ appendLine: (line: string) => seen.output.push(line), show: never, dispose: never }),
  createTreeView: (id: string, { treeDataProvider }: { treeDataProvider: Provider }) => {
    seen.views.set(id, treeDataProvider);
    return { visible: true, onDidChangeVisibility: never, dispose: never };
  },
  showErrorMessage: say,
  showInformationMessage: say,
  showWarningMessage: say,
  showInputBox: () => Promise.resolve(seen.answer),
  showTextDocument: () => Promise.resolve(),
};

export const workspace = {
  workspaceFolders: undefined,
  get textDocuments() {
    return seen.documents;
  },
  getConfiguration: () => ({ get: (name: string, otherwise: unknown) => seen.settings[name] ?? otherwise }),
  asRelativePath: (uri: { fsPath: string }) => uri.fsPath,
  createFileSystemWatcher: () => ({ onDidCreate: never, dispose: never }),
  findFiles: () => Promise.resolve([] as unknown[]),
  openTextDocument: (what: unknown) => Promise.resolve(what),
  onDidChangeConfiguration: never,
  onDidOpenTextDocument: seen.opened.event,
  onDidSaveTextDocument: never,
  onDidChangeTextDocument: seen.changed.event,
  onDidCloseTextDocument: never,
};

export const languages = {
  createDiagnosticCollection: () => ({
    set: (uri: unknown, found: Diagnostic[]) => seen.diagnostics.set(String(uri), found),
    delete: (uri: unknown) => seen.diagnostics.delete(String(uri)),
    dispose: never,
  }),
  registerCodeLensProvider: (_: unknown, provider: (typeof seen.lenses)[0]) => {
    seen.lenses.push(provider);
    return nothing;
  },
};

export const commands = {
  registerCommand: (name: string, act: (...args: unknown[]) => unknown) => {
    seen.commands.set(name, act);
    return { dispose: () => seen.commands.delete(name) };
  },
};
