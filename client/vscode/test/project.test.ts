// The files beside programs, and that nothing of the user's is touched.

import { strict as assert } from "node:assert";
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
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
  await writeFile(join(own, "gitdir"), `${join(tree, ".git")}\n`);
  await describe(tree, "1");
  const excluded = await readFile(join(base, "main", ".git", "info", "exclude"), "utf8");
  assert.equal(excluded, "/mux.d.ts\n/tsconfig.json\n");
});

test("a .git file does not lead to a folder that is no worktree of it", async (t) => {
  const base = await folder(t);
  const victim = join(base, "victim", "info");
  await mkdir(victim, { recursive: true });
  await writeFile(join(victim, "exclude"), "mine\n");
  for (const [back, common] of [[undefined, undefined], ["../.git", "../../victim"], ["other", "../.."]]) {
    const tree = await mkdtemp(join(base, "clone-"));
    const own = back === undefined ? join(base, "victim") : join(tree, "own");
    await mkdir(own, { recursive: true });
    await writeFile(join(tree, ".git"), `gitdir: ${own}\n`);
    if (back !== undefined) await writeFile(join(own, "gitdir"), back);
    if (common !== undefined) await writeFile(join(own, "commondir"), common);
    await describe(tree, "1");
    assert.equal(await readFile(join(victim, "exclude"), "utf8"), "mine\n");
    assert.deepEqual((await readdir(tree)).filter((name) => name.endsWith(".new")), []);
  }
});

test("a link in place of Git's list is not followed", async (t) => {
  const top = await folder(t);
  await mkdir(join(top, ".git", "info"), { recursive: true });
  await writeFile(join(top, "victim"), "mine\n");
  await symlink("../../victim", join(top, ".git", "info", "exclude"));
  await describe(top, "1");
  assert.equal(await readFile(join(top, "victim"), "utf8"), "mine\n");
});
