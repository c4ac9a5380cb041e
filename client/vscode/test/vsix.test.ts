// The packed extension: it holds what its package.json names, and that can be loaded.

import { strict as assert } from "node:assert";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { before, after, test } from "node:test";
import { pathToFileURL } from "node:url";

interface Manifest {
  version: string;
  main: string;
  icon: string;
  dependencies: Record<string, string>;
  contributes: {
    typescriptServerPlugins: { name: string }[];
    commands: { command: string }[];
    viewsContainers: { activitybar: { id: string; icon: string }[] };
    views: Record<string, { id: string }[]>;
    menus: Record<string, { command: string }[]>;
  };
}

/** As much of yauzl as this needs. */
interface Zip {
  openPromise(file: string): Promise<{
    eachEntry(): AsyncIterable<{ fileName: string }>;
    openReadStreamPromise(entry: { fileName: string }): Promise<Readable>;
  }>;
}

function told(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: these tests are started by \`cargo nextest run -p mux-tests\``);
  return value;
}

let folder: string;
const files = new Set<string>();
const read = (file: string) => readFile(join(folder, "extension", file), "utf8");
let manifest: Manifest;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "mux-"));
  const yauzl = createRequire(join(told("MUX_TEST_EDITORS"), "x.js"))("yauzl") as Zip;
  const zip = await yauzl.openPromise(told("MUX_TEST_VSIX"));
  for await (const entry of zip.eachEntry()) {
    const to = join(folder, entry.fileName);
    await mkdir(dirname(to), { recursive: true });
    await writeFile(to, await zip.openReadStreamPromise(entry));
    files.add(entry.fileName);
  }
  manifest = JSON.parse(await read("package.json")) as Manifest;
});
after(() => rm(folder, { recursive: true }));

test("every file that it names is in it", async () => {
  const { main, icon, dependencies, contributes } = manifest;
  const named = [main, icon, ...contributes.viewsContainers.activitybar.map((container) => container.icon), "readme.md"];
  for (const file of named) assert.ok(files.has(`extension/${file.replace(/^\.\//, "")}`), file);
  for (const [name, version] of Object.entries(dependencies)) {
    const inside = JSON.parse(await read(`node_modules/${name}/package.json`)) as { version: string };
    assert.equal(inside.version, version, name);
  }
  for (const plugin of contributes.typescriptServerPlugins) assert.ok(plugin.name in dependencies, plugin.name);
  assert.ok(files.has("extension.vsixmanifest") && files.has("[Content_Types].xml"));
  // Sources and tests stay where they are.
  assert.deepEqual([...files].filter((file) => /\.test\.js$|[^d]\.ts$|\/src\//.test(file)), []);
});

test("what it contributes is what its code knows", async () => {
  const { commands, menus, views, viewsContainers } = manifest.contributes;
  const code = (await read(manifest.main)).match(/"mux\.\w+"/g)?.map((name) => name.slice(1, -1)) ?? [];
  const declared = commands.map(({ command }) => command);
  for (const command of declared) assert.ok(code.includes(command), `${command} has no code`);
  for (const view of Object.values(views).flat()) assert.ok(code.includes(view.id), `${view.id} has no code`);
  for (const { command } of Object.values(menus).flat()) assert.ok(declared.includes(command), `${command} is not declared`);
  assert.deepEqual(Object.keys(views), viewsContainers.activitybar.map(({ id }) => id));
});

test("its modules are loaded from where they stand", async () => {
  const entry = createRequire(join(folder, "extension", manifest.main));
  const tree = (await import(pathToFileURL(join(folder, "extension/dist/tree.js")).href)) as { RunTree: unknown };
  assert.equal(typeof tree.RunTree, "function");
  const follow = (await import(pathToFileURL(join(folder, "extension/dist/follow.js")).href)) as { follow: unknown };
  assert.equal(typeof follow.follow, "function");
  const plugin = entry("mux-typescript-plugin") as () => { create: unknown };
  assert.equal(typeof plugin().create, "function");
});

test("it holds no path of the machine that packed it", async () => {
  const here = told("MUX_TEST_SOURCE");
  for (const file of files) {
    if (file.endsWith(".png")) continue;
    assert.ok(!(await readFile(join(folder, file), "utf8")).includes(here), file);
  }
});
