// The project that TypeScript's own server needs to know `mux.*`: declarations beside the programs, and a
// configuration that includes the programs of that folder only.
//
// Invariant: no file of the user's is changed, and what is written here stays out of version control.

import { lstat, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";

export const DECLARATIONS = "mux.d.ts";
const PROJECT = "tsconfig.json";

/** As much as the check before a run knows. */
const PROJECT_TEXT = `${JSON.stringify(
  {
    compilerOptions: {
      target: "es2024",
      lib: ["es2024"],
      module: "esnext",
      moduleResolution: "bundler",
      moduleDetection: "force",
      strict: true,
      noImplicitAny: false,
      useUnknownInCatchVariables: false,
      erasableSyntaxOnly: true,
      noEmit: true,
      types: [],
      skipLibCheck: true,
    },
    include: ["*.mux.ts", DECLARATIONS],
  },
  undefined,
  2,
)}\n`;

/** Puts the declarations into a folder of programs. True if anything was written. */
export async function describe(folder: string, declarations: string): Promise<boolean> {
  const fresh = await writeIfOther(join(folder, DECLARATIONS), declarations);
  const project = join(folder, PROJECT);
  // Somebody may have a project of his own.
  const made = (await exists(project)) ? false : await writeIfOther(project, PROJECT_TEXT);
  if (fresh || made) await exclude(folder, made ? [DECLARATIONS, PROJECT] : [DECLARATIONS]);
  return fresh || made;
}

/** In one step, so that nobody reads half of it, and only if it differs, so that nobody reads it in vain. */
async function writeIfOther(file: string, text: string): Promise<boolean> {
  if ((await read(file)) === text) return false;
  const beside = `${file}.${process.pid}.new`;
  // A repository may have brought a link of this name.
  await writeFile(beside, text, { flag: "wx" });
  await rename(beside, file);
  return true;
}

/** Git's list of what this checkout alone ignores; no file that is committed is touched. */
async function exclude(folder: string, names: string[]): Promise<void> {
  const found = await repository(resolve(folder));
  if (found === undefined) return;
  const file = join(found.git, "info", "exclude");
  if (await isLink(file)) return;
  const before = (await read(file)) ?? "";
  const below = relative(found.top, resolve(folder)).split(sep).join("/");
  const lines = names.map((name) => `/${below === "" ? "" : `${below}/`}${name}`);
  const missing = lines.filter((line) => !before.split("\n").includes(line));
  if (missing.length === 0) return;
  await mkdir(dirname(file), { recursive: true });
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  await writeFile(file, `${before}${gap}${missing.join("\n")}\n`);
}

/** The checkout to which a folder belongs, and where Git keeps what all its checkouts share. */
async function repository(folder: string): Promise<{ top: string; git: string } | undefined> {
  for (let top = folder; ; top = dirname(top)) {
    const git = join(top, ".git");
    const found = await stat(git).catch(() => undefined);
    if (found?.isDirectory()) return { top, git };
    // A worktree's `.git` is a file that says where its own folder is, and that one says where the shared one is.
    const own = /^gitdir: (.*)$/m.exec((found && (await read(git))) ?? "")?.[1];
    if (own !== undefined) {
      const folder = resolve(top, own);
      // Git's own folder names the worktree, too. Otherwise the file could name any folder of the user.
      const named = (await read(join(folder, "gitdir")))?.trim();
      if (named === undefined || resolve(folder, named) !== git) return undefined;
      const shared = resolve(folder, (await read(join(folder, "commondir")))?.trim() ?? ".");
      return join(shared, "worktrees") === dirname(folder) ? { top, git: shared } : undefined;
    }
    if (dirname(top) === top) return undefined;
  }
}

async function read(file: string): Promise<string | undefined> {
  return readFile(file, "utf8").catch(() => undefined);
}

async function isLink(file: string): Promise<boolean> {
  return lstat(file).then((found) => found.isSymbolicLink(), () => false);
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(() => true, () => false);
}
