// The extension as an editor starts it: its commands, views and marks, on a daemon of the test's own.

import { strict as assert } from "node:assert";
import { readFile } from "node:fs/promises";
import * as module from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import type { Provider, TreeItem } from "./editor.js";

function told(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: these tests are started by \`cargo nextest run -p mux-tests\``);
  return value;
}

type Hooks = { resolve(name: string, context: unknown, next: (name: string, context: unknown) => unknown): unknown };
const registerHooks = (module as unknown as { registerHooks(hooks: Hooks): void }).registerHooks;
const editor = new URL("./editor.js", import.meta.url).href;
registerHooks({
  resolve: (name, context, next) => (name === "vscode" ? { url: editor, shortCircuit: true } : next(name, context)),
});

const { seen, Uri } = await import("./editor.js");
const extension = join(told("MUX_TEST_PLUGINS"), "vscode");
const subscriptions: { dispose(): void }[] = [];

before(async () => {
  seen.settings = { home: told("MUX_TEST_HOME"), daemon: told("MUX_TEST_DAEMON") };
  const main = (await import(pathToFileURL(join(extension, "dist/extension.js")).href)) as {
    activate(context: object): void;
  };
  main.activate({ subscriptions, extension: { packageJSON: { version: "0" } } });
});
after(() => {
  for (const subscription of subscriptions) subscription.dispose();
});

/** A program in an editor. */
function program(name: string, text: string) {
  const uri = Uri.file(`/w/${name}`);
  return { uri, fileName: uri.fsPath, version: 1, getText: () => text };
}

function view(id: string): Provider {
  const found = seen.views.get(id);
  assert.ok(found, id);
  return found;
}

/** Waits until something is so; the test runner's limit ends a wait in vain. */
async function until<T>(look: () => T | undefined): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("every command that is declared is registered", async () => {
  const manifest = JSON.parse(await readFile(join(extension, "package.json"), "utf8")) as {
    contributes: { commands: { command: string }[] };
  };
  assert.deepEqual(manifest.contributes.commands.map(({ command }) => command).sort(), [...seen.commands.keys()].sort());
  const lenses = seen.lenses[0]?.provideCodeLenses(program("x.mux.ts", "")) ?? [];
  assert.deepEqual(lenses.map((lens) => lens.command.command), ["mux.run", "mux.runWithInput"]);
});

test("a program runs with its calls below it", async () => {
  const text = `console.log("hi");\nreturn await mux.fix.add({ a: mux.input.n, b: 1 });`;
  seen.answer = '{"n": 41}';
  await seen.commands.get("mux.runWithInput")?.(program("x.mux.ts", text));
  const runs = view("mux.runs");
  const [run] = runs.getChildren();
  const item = runs.getTreeItem(run);
  assert.equal(item.label, "/w/x.mux.ts");
  assert.equal(item.contextValue, "run");
  const labels = runs.getChildren(run).map((node) => runs.getTreeItem(node).label);
  assert.ok(labels.includes("fix.add") && labels.includes("hi"), labels.join());
  assert.equal(seen.output.at(-1), '{\n  "sum": 42\n}');
  seen.commands.get("mux.clearRuns")?.();
  assert.deepEqual(runs.getChildren(), []);
});

test("a run is cancelled from its tree", async () => {
  const running = seen.commands.get("mux.run")?.(program("y.mux.ts", `await mux.fix.sleep({ ms: 60000 });`));
  const runs = view("mux.runs");
  const call = () => runs.getChildren().flatMap((run) => runs.getChildren(run)).find((node) => node.label === "fix.sleep");
  await until(call);
  const [run] = runs.getChildren();
  assert.equal(runs.getTreeItem(run).contextValue, "run.running");
  seen.commands.get("mux.cancelRun")?.(run);
  await running;
  assert.match((runs.getTreeItem(run) as TreeItem & { description: string }).description, /^failed \(cancelled\)/);
});

test("mistakes are marked as they are typed, and are gone with them", async () => {
  seen.opened.fire(program("z.mux.ts", "return await mux.fix.add({ a: 1 });"));
  const marks = await until(() => seen.diagnostics.get("file:///w/z.mux.ts"));
  assert.equal(marks.length, 1);
  assert.match(marks[0]?.message ?? "", /'b' is missing/);
  seen.changed.fire({ document: program("z.mux.ts", "return 1;") });
  await until(() => (seen.diagnostics.get("file:///w/z.mux.ts")?.length === 0 ? true : undefined));
  seen.opened.fire(program("plain.ts", "return nothing;"));
  assert.ok(!seen.diagnostics.has("file:///w/plain.ts"));
});

test("servers are listed and restarted, approvals are listed and answered", async () => {
  const servers = view("mux.servers");
  const fix = await until(() => servers.getChildren().find((server) => server.name === "fix"));
  assert.equal(servers.getTreeItem(fix).contextValue, "server.restarts");
  await seen.commands.get("mux.restartServer")?.(fix);
  assert.ok(seen.messages.includes("muxd: fix is ready"), seen.messages.join());

  // Whoever is asked closes the question: the call waits in the list.
  seen.answer = undefined;
  const running = seen.commands.get("mux.run")?.(program("c.mux.ts", `return await mux.fix.counter({ key: "a" });`));
  const approvals = view("mux.approvals");
  const waiting = await until(() => approvals.getChildren()[0]);
  assert.equal(approvals.getTreeItem(waiting).contextValue, "approval.open");
  // The list may have heard of it first.
  await until(() => seen.messages.find((message) => message === "Allow fix.counter?"));
  await seen.commands.get("mux.approve")?.(waiting);
  await running;
  assert.ok(seen.messages.includes("muxd: fix.counter is approved"), seen.messages.join());

  seen.answer = "Deny";
  await seen.commands.get("mux.run")?.(program("d.mux.ts", `return await mux.fix.counter({ key: "a" });`));
  assert.match(seen.output.at(-1) ?? "", /^denied: /);
});
