// The files beside programs, and that nothing of the user's is touched.

import { strict as assert } from "node:assert";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

import { describe } from "../src/project.js";

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "mux-"));
  t.after(() => rm(made, { recursive: true }));
  return made;
}

test("declarations and a project are written once and only if they differ", async (t) => {
  const home = await folder(t);
  assert.ok(await describe(home, "declare const mux: {};\n"));
  assert.ok(!(await describe(home, "declare const mux: {};\n")));
  assert.deepEqual((await readdir(home)).sort(), ["mux.d.ts", "tsconfig.json"]);
  const project = JSON.parse(await readFile(join(home, "tsconfig.json"), "utf8"));
  assert.deepEqual(project.include, ["*.mux.ts", "mux.d.ts"]);
  assert.ok(await describe(home, "declare const mux: { a: 1 };\n"));
  assert.match(await readFile(join(home, "mux.d.ts"), "utf8"), /a: 1/);
});

test("a project of the user's own stays as it is, and Git is told beside what is committed", async (t) => {
  const top = await folder(t);
  const scripts = join(top, "a", "scripts");
  await mkdir(scripts, { recursive: true });
  await mkdir(join(top, ".git", "info"), { recursive: true });
  await writeFile(join(top, ".git", "info", "exclude"), "*.log");
  await writeFile(join(scripts, "tsconfig.json"), "{}");
  await describe(scripts, "1");
  await describe(scripts, "2");
  assert.equal(await readFile(join(scripts, "tsconfig.json"), "utf8"), "{}");
  const excluded = () => readFile(join(top, ".git", "info", "exclude"), "utf8");
  assert.equal(await excluded(), "*.log\n/a/scripts/mux.d.ts\n");
  await describe(top, "1");
  assert.equal(await excluded(), "*.log\n/a/scripts/mux.d.ts\n/mux.d.ts\n/tsconfig.json\n");
});

test("in a worktree Git is told where it looks", async (t) => {
  const base = await folder(t);
  const [tree, own] = [join(base, "tree"), join(base, "main", ".git", "worktrees", "tree")];
  await mkdir(tree);
  await mkdir(own, { recursive: true });
  await writeFile(join(tree, ".git"), `gitdir: ${own}\n`);
  await writeFile(join(own, "commondir"), "../..\n");
  await describe(tree, "1");
  const excluded = await readFile(join(base, "main", ".git", "info", "exclude"), "utf8");
  assert.equal(excluded, "/mux.d.ts\n/tsconfig.json\n");
});
