// Runs the hostile programs that are not about muxd's own API in other sandboxes and in muxd, and prints how each ended,
// as a Markdown table: `node bench.mjs BINARIES [--only SANDBOX]… [--case PART] [--verbose]`; see scripts/bench.
//
// Every case has its own host process (host.mjs, monty.py), and is judged from the outside: by its exit, a file that
// only an escape can write, a secret that only an escape can read, its memory, whether it answers, and whether the next
// program runs as if nothing had been.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { cpus, release, tmpdir, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { computed, killAll, marked, resident } from "../rivals/family.mjs";

process.removeAllListeners("warning");
const here = dirname(fileURLToPath(import.meta.url));
const hostile = join(here, "../data/hostile");
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: "string", multiple: true }, case: { type: "string" }, verbose: { type: "boolean" } },
});
const [binaries] = positionals;
const modules = process.env.MUX_BENCH_SANDBOXES;
const python = process.env.MUX_BENCH_MONTY;

// A memory limit of none of them is higher than this, and no host needs it: where it is reached, a small machine is dead.
const MOST_BYTES = 3 * 2 ** 30;
// How long after its time limit a program may take to end, and the next one to run; besides, several times as long as
// the sandbox takes for a program that does nothing, on this machine.
const GRACE_MS = 15_000;
const TIMES_EMPTY = 5;
const STARTS_MS = 60_000;
const STOPS_MS = 4_000;
// When a host is watched after a program was ended by its time limit, and the part of a CPU that it may use then.
const WATCHED_MS = [500, 1_500];
const AT_REST = 0.2;
// A host that is silent for this long counts as hanging.
const SILENT_MS = 5_000;

const version = (name) => JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8")).version;
const monty = () => spawnSync(python, ["-c", "import pydantic_monty; print(pydantic_monty.__version__)"]).stdout.toString().trim();
const sandboxes = [
  { name: "mux", title: "muxd", version: () => spawnSync(join(binaries, "mux"), ["--version"]).stdout.toString().match(/\d+\.\d+\.\d+/)?.[0] },
  { name: "isolated-vm", title: "isolated-vm", version: () => version("isolated-vm-7") },
  // The documentation requires a limit of the host's memory, and for `allowAsync: false`, without which its time limit
  // does not hold; but programs that call tools wait for them.
  { name: "vm2", title: "vm2", flags: ["--max-old-space-size=256"], version: () => version("vm2") },
  { name: "vm2-async", title: "vm2, allowAsync", flags: ["--max-old-space-size=256"], version: () => version("vm2") },
  { name: "secure-exec", title: "secure-exec", version: () => version("secure-exec") },
  { name: "codemode", title: "@cloudflare/codemode", version: () => `${version("@cloudflare/codemode")} (workerd ${version("workerd")})` },
  // Of isolated-vm 6, which needs this.
  { name: "utcp", title: "@utcp/code-mode", flags: ["--no-node-snapshot"], version: () => version("@utcp/code-mode") },
  { name: "ai-sdk", title: "@ai-sdk/code-mode", version: () => version("@ai-sdk/code-mode") },
  { name: "monty", title: "pydantic-monty", version: monty },
].filter(({ name }) => !options.only || options.only.includes(name));

// --- The programs --------------------------------------------------------------------------------------------------

const NEXT = 'return [typeof [].map, JSON.stringify({ a: [1] }), "left" in globalThis, "left" in {}].join(" ");';
const probe = readFileSync(join(here, "probe.js"), "utf8");

// The body of an asynchronous function, without types: `host.mjs` runs JavaScript.
function untyped(body) {
  try {
    const whole = stripTypeScriptTypes(`async function program() {\n${body}\n}`);
    return whole.slice(whole.indexOf("{") + 2, whole.lastIndexOf("}"));
  } catch {
    return body;
  }
}

function read(file) {
  const lines = readFileSync(join(hostile, file), "utf8").split("\n");
  const length = lines.findIndex((line) => !line.startsWith("// "));
  const head = lines.slice(0, length).map((line) => line.slice(3));
  const source = lines.slice(length).join("\n");
  let body = untyped(source);
  for (const line of head) {
    const [, mark, count, text] = line.match(/^expand: (\S+) (\d+) (.*)$/) ?? [];
    if (mark) body = body.replaceAll(mark, text.repeat(Number(count)));
  }
  const [, seconds] = head.join("\n").match(/--timeout (\d+)s/) ?? [];
  return { name: file.replace(/\.ts$/, ""), source, body, timeout: Math.min(seconds ?? 10, 10) * 1000 };
}

// What names `mux` is about its API, and types are read by none of the others.
const cases = readdirSync(hostile)
  .filter((file) => file.endsWith(".ts") && file.includes(options.case ?? ""))
  .sort()
  .map(read)
  .filter(({ name, source }) => !/\bmux\b/.test(source) && !name.includes("nested_types"));

// A case that tries to escape is surrounded by the probe, in the same program. Programs that wait for promises also
// request modules.
const IMPORT = `for (const name of ["node:fs", "fs", "node:module"]) {
  try {
    const fs = await import(name);
    (fs.default ?? fs).writeFileSync("@MARK", "escaped");
  } catch (error) {
    __use(error);
  }
}`;
function armed({ name, body }) {
  // %Natives and imports are a matter of the parser: they stay as they are.
  if ((!name.startsWith("escape") && name !== "cpu_49_recursion") || /^import |%Debug/m.test(body)) return body;
  const waits = /\bawait\b/.test(body);
  const own = waits ? `await (async () => {\n${body}\n})()` : `(() => {\n${body}\n})()`;
  return `${probe}\n__probe();\n${waits ? IMPORT : ""}\ntry {\n  return ${own};\n} catch (error) {\n  __use(error);\n  throw error;\n} finally {\n  __probe();\n}`;
}

// --- One case ------------------------------------------------------------------------------------------------------

const environment = (home, id) => ({
  PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
  HOME: home,
  TMPDIR: home,
  MUX_HOME: home,
  ...marked(id),
  MUX_BENCH_SANDBOXES: modules ?? "",
  MUX_BENCH_MUX: join(binaries, "mux"),
});

let count = 0;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    for (let n = 1; n <= count; n++) killAll(`${process.pid}-${n}`);
    process.exit(130);
  });
}

async function run(sandbox, body, timeout, next, grace = STARTS_MS) {
  const id = `${process.pid}-${++count}`;
  const home = mkdtempSync(join(tmpdir(), "mux-sandbox-"));
  const outside = mkdtempSync(join(tmpdir(), "mux-outside-"));
  const [mark, secret, token] = [join(outside, "mark"), join(outside, "secret"), `secret of ${id}`];
  writeFileSync(secret, token);
  mkdirSync(join(home, "programs"));
  const [program, after] = [join(home, "programs/program"), join(home, "programs/next")];
  writeFileSync(program, body.replaceAll("@MARK", mark).replaceAll("/etc/passwd", secret).replaceAll("/etc/hostname", secret));
  writeFileSync(after, next);
  const args = [program, after, String(timeout)];
  const command = sandbox.name === "monty" ? [python, join(here, "monty.py"), ...args] : [process.execPath, ...(sandbox.flags ?? []), join(here, "host.mjs"), sandbox.name, ...args];
  const child = spawn(command[0], command.slice(1), { cwd: home, env: environment(home, id), stdio: ["ignore", "ignore", "pipe", "pipe"] });
  const seen = { gap: 0, most: 0, atRest: 0, complaint: "" };
  child.stderr.on("data", (part) => (seen.complaint = (seen.complaint + part).slice(-4000)));
  let [last, deadline] = [0, Date.now() + STARTS_MS];
  createInterface({ input: child.stdio[3] }).on("line", (line) => {
    let message = {};
    try {
      message = JSON.parse(line);
    } catch {
      return;
    }
    Object.assign(seen, message);
    if (last && !seen.next) seen.gap = Math.max(seen.gap, Date.now() - last);
    last = Date.now();
    if (message.ready) {
      seen.atRest = resident(id);
      deadline = last + timeout + grace;
    } else if (message.end) {
      deadline = last + grace;
    } else if (message.next) {
      // How long it takes to stop is not part of the case.
      deadline = last + STOPS_MS;
      const [from, to] = WATCHED_MS;
      let before;
      setTimeout(() => (before = computed(id)), from).unref();
      setTimeout(() => (seen.busy = computed(id) - before > (AT_REST * (to - from)) / 1000), to).unref();
    }
  });
  const watch = setInterval(() => {
    if (seen.ready) seen.most = Math.max(seen.most, resident(id));
    if (seen.most > MOST_BYTES) seen.killed = "memory";
    if (Date.now() > deadline && !seen.killed) Object.assign(seen, { killed: "time", quiet: Date.now() - last });
    if (seen.killed) killAll(id);
  }, 50);
  const [code, signal] = await new Promise((resolve) => {
    child.on("error", (error) => resolve([error.message, null]));
    child.on("close", (...end) => resolve(end));
  });
  clearInterval(watch);
  killAll(id);
  const escaped = existsSync(mark) || JSON.stringify([seen.end ?? null]).includes(token);
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  rmSync(outside, { recursive: true, force: true });
  return { ...seen, code, signal, escaped };
}

// --- How it ended --------------------------------------------------------------------------------------------------

// In this order. Any other error is the program's own.
const ABSENT = /ReferenceError|EvalError|NameError|ModuleNotFound|NotImplemented/;
const LIMIT = /time(d)? ?(out|limit|budget)|time limit|limit|too (long|deep|large|many|big)|memory|heap|call stack|stack (size|overflow)|recurs|dispos|interrupt|deadlock|exceed|invalid (array|string) length|allocation|crashed|hung|terminated|nested|over the/i;
const REFUSED = /SyntaxError|EvalError|ReferenceError|NotImplemented|TypeError|VMError|ModuleNotFound|ImportError|NameError|AttributeError|PermissionError|not (allowed|permitted|supported|defined|available|found|extensible)|denied|disallow|unsupported|cannot|could not|no such|import|syntax|unexpected|invalid|serializ/i;

function judge(seen, expected) {
  if (seen.escaped) return "ESCAPED";
  if (!seen.ready) return "no start";
  if (seen.killed === "memory") return "died";
  if (!seen.next && seen.killed === "time") return seen.quiet > SILENT_MS ? "hung" : "endless";
  if (!seen.next) return "died";
  if (seen.next.error) return "endless";
  if (seen.next.value !== expected) return "leaked";
  const { error } = seen.end;
  if (error === undefined) return "ended";
  if (ABSENT.test(error)) return "refused";
  if (LIMIT.test(error)) return "limit";
  return REFUSED.test(error) ? "refused" : "ended";
}

const why = (seen) => {
  const lines = seen.complaint.trim().split("\n").filter((line) => /error|fatal|cannot|not/i.test(line));
  return (lines.find((line) => /FATAL|Error:/.test(line)) ?? lines.at(-1) ?? `exit ${seen.signal ?? seen.code}`).trim().slice(0, 160);
};

const table = new Map();
const absent = [];
const present = [];
const pythons = python && JSON.parse(spawnSync(python, [join(here, "monty.py"), "--cases"], { maxBuffer: 2 ** 26 }).stdout.toString() || "{}");
for (const sandbox of sandboxes) {
  const next = sandbox.name === "monty" ? (pythons?.next ?? "") : NEXT;
  const has = sandbox.name === "mux" || (sandbox.name === "monty" ? pythons : modules);
  const began = Date.now();
  const first = has && (await run(sandbox, sandbox.name === "monty" ? "1" : "return 1;", 10_000, next));
  const expected = first?.next?.value;
  const grace = GRACE_MS + TIMES_EMPTY * (Date.now() - began);
  if (expected === undefined) {
    absent.push(`${sandbox.title}: ${has ? why(first) : "is not installed"}`);
    console.error(`${sandbox.title} does not start`);
    continue;
  }
  present.push(sandbox);
  for (const one of cases) {
    const body = sandbox.name === "monty" ? pythons.cases[one.name] : armed(one);
    if (body === undefined) continue;
    const seen = await run(sandbox, body, one.timeout, next, grace);
    const outcome = judge(seen, expected);
    const marks = [seen.busy && "busy", seen.gap >= 1500 && outcome !== "hung" && "silent", seen.most - seen.atRest > 2 ** 29 && "memory"].filter(Boolean);
    table.set(`${sandbox.name} ${one.name}`, { outcome, marks });
    if (options.verbose) {
      const { end, next: then, gap, most, code, signal, killed } = seen;
      console.error(sandbox.name, one.name, outcome, JSON.stringify({ end, then, gap, busy: seen.busy, mb: Math.round(most / 2 ** 20), code, signal, killed }).slice(0, 500), outcome === "died" ? why(seen) : "");
    }
  }
}

// --- The tables ----------------------------------------------------------------------------------------------------

const row = (cells) => console.log(`| ${cells.join(" | ")} |`);
const rule = (length) => row(Array.from({ length }, () => "---"));
console.log(`${cases.length} programs, ${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpus()[0].model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.version}\n`);
const outcomes = ["refused", "limit", "ended", "leaked", "endless", "hung", "died", "ESCAPED", "busy", "silent", "memory"];
row(["sandbox", "version", "cases", ...outcomes]);
rule(outcomes.length + 3);
for (const sandbox of present) {
  const own = [...table].filter(([key]) => key.startsWith(`${sandbox.name} `)).map(([, cell]) => cell);
  const counted = outcomes.map((outcome) => own.filter((cell) => cell.outcome === outcome || cell.marks.includes(outcome)).length);
  row([sandbox.title, sandbox.version(), own.length, ...counted]);
}
for (const line of absent) console.log(`\nLeft out: ${line}`);
console.log();
row(["case", ...present.map(({ title }) => title)]);
rule(present.length + 1);
for (const { name } of cases) {
  const cells = present.map((sandbox) => {
    const cell = table.get(`${sandbox.name} ${name}`);
    if (!cell) return "–";
    const text = ["endless", "hung", "died", "leaked", "ESCAPED"].includes(cell.outcome) ? `**${cell.outcome}**` : cell.outcome;
    return [text, ...cell.marks].join(", ");
  });
  row([`\`${name}\``, ...cells]);
}
