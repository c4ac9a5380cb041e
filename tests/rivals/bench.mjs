// Programs that keep MCP servers and serve them to agents, and muxd: the same servers, the same calls, each as its
// documentation configures it: `node bench.mjs BINARIES [--rounds N] [--only NAME]… [--clients 1,5,20]
// [--tables servers,sessions,memory] [--verbose]`; see scripts/bench.
//
// The baseline of every figure is the same server alone, over stdio, in the same run, called by the same client. Each
// program has its own home. Missing or broken programs are listed with the reason, and the others are still measured.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { cpus, release, tmpdir, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { family, killAll, marked, proportional } from "./family.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "20" },
    only: { type: "string", multiple: true },
    clients: { type: "string", default: "1,5,20" },
    sessions: { type: "string", default: "1,8,32" },
    tables: { type: "string", default: "servers,sessions,memory" },
    verbose: { type: "boolean" },
  },
});
const [binaries] = positionals;
const rounds = Number(options.rounds);
const crowds = options.clients.split(",").map(Number);
const sessions = options.sessions.split(",").map(Number);
const tables = options.tables.split(",");
const { MUX_BENCH_RIVALS: bin = "", MUX_BENCH_RIVALS_PY: py = "", MUX_BENCH_RIVALS_RUST: rust = "" } = process.env;
const { MUX_TEST_SERVERS_NPM: npm = "", MUX_TEST_SERVERS_PY: pypi = "" } = process.env;
const modules = dirname(bin);

// One command, one call and one start.
const PATIENCE_MS = 60_000;
// How many calls each of several sessions makes.
const CALLS = 50;
const SERVERS = 10;

const workspace = mkdtempSync(join(tmpdir(), "mux-rivals-workspace-"));
execFileSync("git", ["init", "-q", workspace]);
const servers = [
  { name: "fixture", command: join(binaries, "mux-fixture-server"), args: [], tool: "echo", arguments: { text: "hello" } },
  { name: "everything", command: join(npm, "mcp-server-everything"), args: ["stdio"], tool: "echo", arguments: { message: "hello" } },
  { name: "git", command: join(pypi, "mcp-server-git"), args: [], tool: "git_status", arguments: { repo_path: workspace } },
].filter(({ command }) => existsSync(command));
const more = [
  { name: "filesystem", command: join(npm, "mcp-server-filesystem"), args: [workspace], tool: "list_directory", arguments: { path: workspace } },
  { name: "memory", command: join(npm, "mcp-server-memory"), args: [], tool: "read_graph", arguments: {} },
  { name: "thinking", command: join(npm, "mcp-server-sequential-thinking"), args: [], tool: "sequentialthinking", arguments: { thought: "one", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 } },
  { name: "time", command: join(pypi, "mcp-server-time"), args: [], tool: "get_current_time", arguments: { timezone: "UTC" } },
].filter(({ command }) => existsSync(command));
const real = [...servers.slice(1), ...more];
const ten = Array.from({ length: SERVERS }, (_, n) => real[n % real.length] ?? servers[0]).map((server, n) => ({ ...server, name: `${server.name}${n}` }));

const version = (name) => JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8")).version;
const says = (command, ...args) => execFileSync(command, args).toString().match(/\d+\.\d+\.\d+/)?.[0];
const node = process.execPath;
const npmProgram = (name) => [node, join(bin, name)];

// --- How each is configured ----------------------------------------------------------------------------------------
//
// `files` are written into its home. `serve` is a process that keeps running, and `ready` its address. `call` is the
// command line that makes one call, `connect` must be run once before it, and `stop` ends its processes. `agent` is how
// an MCP client connects: a command line, or an address. `arguments` says how the call looks there, if it is not the
// server's own tool under some prefix.

const entries = (list, extra = {}) => Object.fromEntries(list.map(({ name, command, args }) => [name, { command, args, ...extra }]));
const mcpServers = (extra) => ({ files: (list) => ({ "mcp.json": JSON.stringify({ mcpServers: entries(list, extra) }) }) });
const muxConfig = {
  files: (list) => ({
    "config.toml": list.map(({ name, command, args }) => `[servers.${name}]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`).join(""),
  }),
  version: () => says(join(binaries, "mux"), "--version"),
  stop: () => [join(binaries, "mux"), "stop", "--now"],
};

const programs = [
  {
    name: "the server alone",
    version: () => "",
    alone: true,
    files: () => ({}),
    agent: (home, server) => [server.command, ...server.args],
  },
  {
    name: "muxd",
    ...muxConfig,
    call: (home, { name, tool, arguments: args }) => [join(binaries, "mux"), "call", `${name}.${tool}`, JSON.stringify(args)],
    agent: () => [join(binaries, "mux"), "mcp"],
    as: ({ name, tool, arguments: args }) => ({ name: "call", arguments: { path: `${name}.${tool}`, arguments: args } }),
  },
  {
    name: "muxd, as a program",
    ...muxConfig,
    agent: () => [join(binaries, "mux"), "mcp"],
    as: ({ name, tool, arguments: args }) => ({ name: "run", arguments: { code: `return await mux.${name}.${tool}(${JSON.stringify(args)});` } }),
  },
  {
    name: "mcporter",
    version: () => version("mcporter"),
    ...mcpServers({ lifecycle: "keep-alive" }),
    call: (home, { name, tool, arguments: args }) => [...npmProgram("mcporter"), "--config", join(home, "mcp.json"), "call", `${name}.${tool}`, "--args", JSON.stringify(args)],
    stop: (home) => [...npmProgram("mcporter"), "--config", join(home, "mcp.json"), "daemon", "stop"],
    agent: (home) => [...npmProgram("mcporter"), "--config", join(home, "mcp.json"), "serve", "--stdio"],
  },
  {
    name: "mcpdo (Inspector)",
    version: () => version("@modelcontextprotocol/inspector"),
    ...mcpServers(),
    environment: (home) => ({ MCP_CATALOG_PATH: join(home, "mcp.json"), MCP_INSPECTOR_SECRET_STORE: "memory" }),
    connect: (home, { name }) => [...npmProgram("mcpdo"), "connect", name],
    call: (home, { name, tool, arguments: args }) => [...npmProgram("mcpdo"), "--connection", name, "tools/call", tool, JSON.stringify(args)],
    stop: () => [...npmProgram("mcpdo"), "daemon", "stop"],
  },
  {
    name: "mcpc",
    version: () => version("@apify/mcpc"),
    ...mcpServers(),
    connect: (home, { name }) => [...npmProgram("mcpc"), "connect", `${join(home, "mcp.json")}:${name}`, `@${name}`],
    call: (home, { name, tool, arguments: args }) => [...npmProgram("mcpc"), `@${name}`, "tools-call", tool, JSON.stringify(args)],
  },
  {
    name: "executor",
    version: () => version("executor"),
    why: "a stdio server can be added by the command line, but has tools only with a connection, for which it wants a credential from its web page",
  },
  {
    name: "mcp-hub",
    version: () => version("mcp-hub"),
    ...mcpServers(),
    serve: (home, port) => [...npmProgram("mcp-hub"), "--port", String(port), "--config", join(home, "mcp.json")],
    agent: (home, server, port) => ({ sse: `http://127.0.0.1:${port}/mcp` }),
  },
  {
    name: "mcp-proxy (Rust)",
    // This program has no --version.
    version: () => /"mcp-proxy ([^ ]+)/.exec(readFileSync(join(rust, "..", ".crates.toml"), "utf8"))?.[1],
    files: (list, port) => ({
      "proxy.toml": `[proxy]\nname = "bench"\nseparator = "/"\n[proxy.listen]\nhost = "127.0.0.1"\nport = ${port}\n${list.map(({ name, command, args }) => `[[backends]]\nname = "${name}"\ntransport = "stdio"\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`).join("")}`,
    }),
    serve: (home) => [join(rust, "mcp-proxy"), "--config", join(home, "proxy.toml")],
    agent: (home, server, port) => ({ http: `http://127.0.0.1:${port}/` }),
  },
  {
    name: "FastMCP proxy",
    version: () => says(join(py, "fastmcp"), "version"),
    ...mcpServers(),
    agent: (home) => [join(py, "fastmcp"), "run", join(home, "mcp.json"), "--no-banner"],
  },
  {
    name: "FastMCP code mode",
    version: () => says(join(py, "fastmcp"), "version"),
    files: (list) => ({
      "code_mode.py": `from fastmcp.experimental.transforms.code_mode import CodeMode\nfrom fastmcp.server import create_proxy\n\nserver = create_proxy(${JSON.stringify({ mcpServers: entries(list) })})\nserver.add_transform(CodeMode())\nserver.run(show_banner=False)\n`,
    }),
    agent: (home) => [join(py, "python"), join(home, "code_mode.py")],
    as: ({ name, tool, arguments: args }, { single }) => ({ name: "execute", arguments: { code: `return await call_tool(${JSON.stringify(single ? tool : `${name}_${tool}`)}, ${JSON.stringify(args)})` } }),
  },
  {
    name: "ContextForge",
    version: () => "",
    why: "wants a database, an administrator's token and a bridge to HTTP for every stdio server, which this bench does not set up",
  },
].filter(({ name, alone }) => alone || !options.only || options.only.some((part) => name.includes(part)));

// --- One home ------------------------------------------------------------------------------------------------------

const within = (what, promise, limit = PATIENCE_MS) => {
  let clock;
  const late = new Promise((_, reject) => (clock = setTimeout(() => reject(new Error(`${what}: no end after ${limit / 1000} s`)), limit)));
  return Promise.race([promise, late]).finally(() => clearTimeout(clock));
};
const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
const tail = (text) => text.trim().replace(/\s+/g, " ").slice(-200);

let count = 0;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    for (let n = 1; n <= count; n++) killAll(`${process.pid}-${n}`);
    process.exit(130);
  });
}

class Home {
  static async of(program, list) {
    const home = new Home();
    Object.assign(home, { program, list, id: `${process.pid}-${++count}`, folder: mkdtempSync(join(tmpdir(), "mux-rival-")), port: await freePort() });
    mkdirSync(join(home.folder, "tmp"));
    for (const [name, text] of Object.entries(program.files(list, home.port))) writeFileSync(join(home.folder, name), text);
    home.env = {
      PATH: `${dirname(node)}:/usr/local/bin:/usr/bin:/bin`,
      HOME: home.folder,
      MUX_HOME: home.folder,
      TMPDIR: join(home.folder, "tmp"),
      MEMORY_FILE_PATH: join(home.folder, "memory.jsonl"),
      ...marked(home.id),
      ...program.environment?.(home.folder),
    };
    return home;
  }

  // One whole command, which must succeed and say something.
  run([command, ...args]) {
    const work = new Promise((resolve, reject) => {
      const child = spawn(command, args, { cwd: workspace, env: this.env, stdio: ["ignore", "pipe", "pipe"] });
      let [said, complaint] = ["", ""];
      child.stdout.on("data", (part) => (said += part));
      child.stderr.on("data", (part) => (complaint += part));
      child.on("error", reject);
      // A daemon that it leaves behind may keep its pipes.
      child.on("exit", (code) => setImmediate(() => (code === 0 && !/"(isE|e)rror": ?(true|\{)/.test(said) ? resolve(said) : reject(new Error(tail(complaint || said) || `exit ${code}`)))));
    });
    return within(`${args.slice(0, 4).join(" ")}`, work);
  }

  // Starts its server process, and waits until it answers on its port.
  async serve() {
    if (!this.program.serve) return;
    const [command, ...args] = this.program.serve(this.folder, this.port);
    let complaint = "";
    const child = spawn(command, args, { cwd: workspace, env: this.env, stdio: ["ignore", "ignore", "pipe"] });
    child.on("error", (error) => (complaint += error));
    child.stderr.on("data", (part) => (complaint = (complaint + part).slice(-2000)));
    const began = Date.now();
    for (;;) {
      if (child.exitCode !== null || Date.now() - began > PATIENCE_MS) throw new Error(`does not serve: ${tail(complaint)}`);
      const open = await fetch(`http://127.0.0.1:${this.port}/`).then(() => true, () => false);
      if (open) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async stop() {
    for (const client of this.clients ?? []) client.close().catch(() => {});
    this.clients = [];
    const args = this.program.stop?.(this.folder);
    if (args && family(this.id).length) await this.run(args).catch(() => {});
    killAll(this.id);
    while (family(this.id).length) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  async close() {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  // A server may answer before it is ready: ask again.
  async client(server) {
    for (const began = Date.now(); ; await new Promise((resolve) => setTimeout(resolve, 20))) {
      const client = new sdk.Client({ name: "mux-bench", version: "1" });
      try {
        await within("initialize", client.connect(this.transport(server)));
        (this.clients ??= []).push(client);
        return client;
      } catch (error) {
        client.close().catch(() => {});
        if (!this.program.serve || Date.now() - began > PATIENCE_MS) throw error;
      }
    }
  }

  transport(server) {
    const where = this.program.agent(this.folder, server, this.port);
    if (where.http) return new sdk.Http(new URL(where.http));
    if (where.sse) return new sdk.Sse(new URL(where.sse));
    return new sdk.Stdio({ command: where[0], args: where.slice(1), env: this.env, cwd: workspace, stderr: "ignore" });
  }

  // How a call of this server's tool looks there.
  async request(client, server) {
    if (this.program.as) return this.program.as(server, { single: this.list.length === 1 });
    // A gateway may still be opening its servers when it answers.
    for (const began = Date.now(); ; await new Promise((resolve) => setTimeout(resolve, 20))) {
      const { tools } = await within("tools/list", client.listTools());
      const fitting = tools.filter(({ name }) => name.endsWith(server.tool));
      const found = fitting.find(({ name }) => name.includes(server.name)) ?? fitting[0];
      if (found) return { name: found.name, arguments: server.arguments };
      if (Date.now() - began > PATIENCE_MS) throw new Error(`lists no ${server.tool} but ${tools.map(({ name }) => name).slice(0, 5)}`);
    }
  }
}

async function ask(client, request) {
  const answer = await within("tools/call", client.callTool(request));
  if (answer.isError) throw new Error(tail(JSON.stringify(answer.content)));
}

// --- The figures ---------------------------------------------------------------------------------------------------

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const timed = async (work) => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};
const some = Math.min(rounds, 10);
async function repeat(times, work) {
  const taken = [];
  for (let n = 0; n < times; n++) taken.push(await work());
  return median(taken);
}

// From nothing to the answer of one call, by the command line or else as an agent.
const cold = (program, server, times = some) =>
  repeat(times, async () => {
    const home = await Home.of(program, [server]);
    try {
      return await timed(async () => {
        await home.serve();
        if (program.call) {
          if (program.connect) await home.run(program.connect(home.folder, server));
          return home.run(program.call(home.folder, server));
        }
        const client = await home.client(server);
        await ask(client, await home.request(client, server));
      });
    } finally {
      await home.close();
    }
  });

async function withHome(program, list, work) {
  const home = await Home.of(program, list);
  try {
    await home.serve();
    return await work(home);
  } finally {
    await home.close();
  }
}

const warmCommand = (program, server) =>
  withHome(program, [server], async (home) => {
    if (program.connect) await home.run(program.connect(home.folder, server));
    const call = () => home.run(program.call(home.folder, server));
    await call();
    return repeat(some, () => timed(call));
  });

const warmSession = (program, server) =>
  withHome(program, [server], async (home) => {
    const client = await home.client(server);
    const request = await home.request(client, server);
    for (let n = 0; n < 3; n++) await ask(client, request);
    return repeat(rounds, () => timed(() => ask(client, request)));
  });

// Calls per second of several concurrent sessions.
const crowd = (program, server, many) =>
  withHome(program, [server], async (home) => {
    const clients = [];
    for (let n = 0; n < many; n++) clients.push(await home.client(server));
    const request = await home.request(clients[0], server);
    await Promise.all(clients.map((client) => ask(client, request)));
    const took = await timed(() =>
      Promise.all(
        clients.map(async (client) => {
          for (let n = 0; n < CALLS; n++) await ask(client, request);
        }),
      ),
    );
    return (many * CALLS * 1000) / took;
  });

// From the death of the server's process to the next good answer: calls are made until one is.
const afterKill = (program, server) =>
  withHome(program, [server], async (home) => {
    let call = () => home.run(program.call(home.folder, server));
    if (program.agent) {
      const client = await home.client(server);
      const request = await home.request(client, server);
      call = () => ask(client, request);
    } else if (program.connect) {
      await home.run(program.connect(home.folder, server));
    }
    await call();
    let failures = 0;
    const took = await repeat(Math.min(some, 5), async () => {
      await call();
      const isServer = (line) => line.includes(server.command) && !line.includes(home.folder);
      if (!killAll(home.id, isServer)) throw new Error("no process of the server is there to kill");
      while (killAll(home.id, isServer)) await new Promise((resolve) => setTimeout(resolve, 1));
      return timed(async () => {
        for (const began = Date.now(); ; ) {
          try {
            return await call();
          } catch (error) {
            failures++;
            if (Date.now() - began > 15_000) throw new Error(`no answer for 15 s after the server's death: ${error.message}`);
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
        }
      });
    });
    return { took, failures };
  });

// Several clients over ten servers, each of which has been called by each.
const memory = (program, clients) =>
  withHome(program, ten, async (home) => {
    for (let n = 0; n < clients; n++) {
      if (program.alone) {
        for (const server of ten) await ask(await home.client(server), { name: server.tool, arguments: server.arguments });
        continue;
      }
      const client = await home.client();
      for (const server of ten) await ask(client, await home.request(client, server));
    }
    return proportional(home.id) / 2 ** 20;
  });

// --- The tables ----------------------------------------------------------------------------------------------------

const print = (cells) => console.log(`| ${cells.join(" | ")} |`);
const rule = (length) => print(Array.from({ length }, () => "---"));
const notes = [];
const baselines = new Map();

// One figure of one program: a cell, and a note if it cannot be had.
async function figure(program, title, applies, work, shown) {
  if (!applies) return "–";
  try {
    const value = await work();
    if (program.alone) baselines.set(title, value);
    return shown(value, baselines.get(title));
  } catch (error) {
    notes.push(`${program.name}, ${title}: ${error.message}`);
    if (options.verbose) console.error(notes.at(-1));
    return "fails";
  }
}
const ms = (value) => (value < 10 ? value.toFixed(2) : value.toFixed(0));
const ratio = (value, base) => (base && value !== base ? ` (${(value / base).toFixed(value < base ? 2 : 1)} ×)` : "");

console.log(`${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpus()[0].model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.version}, ${rounds} rounds, load at the start ${readFileSync("/proc/loadavg", "utf8").split(" ")[0]}\n`);

let sdk;
try {
  const load = (file) => import(pathToFileURL(join(modules, "@modelcontextprotocol/sdk/dist/esm/client", file)).href);
  const [{ Client }, { StdioClientTransport: Stdio }, { StreamableHTTPClientTransport: Http }, { SSEClientTransport: Sse }] = await Promise.all(["index.js", "stdio.js", "streamableHttp.js", "sse.js"].map(load));
  sdk = { Client, Stdio, Http, Sse };
} catch (error) {
  console.error(`no MCP client here: ${error.message}\nscripts/setup --rivals installs it, from npm`);
  process.exit(1);
}

for (const program of programs) {
  try {
    program.shown = [program.name, program.version()].join(" ").trim();
    if (program.why) throw new Error(program.why);
    await cold(program, servers[0], 1);
  } catch (error) {
    const missing = error.code === "ENOENT" || error.code === "ERR_MODULE_NOT_FOUND";
    program.absent = missing ? "is not installed: scripts/setup --rivals says why" : error.message.split("\n")[0].slice(0, 300);
    if (options.verbose) console.error(program.name, error.message);
  }
}
const present = programs.filter(({ absent }) => !absent);

for (const server of tables.includes("servers") ? servers : []) {
  print([`${server.name}: ms`, "cold", "warm, command", "warm, session", "after SIGKILL"]);
  rule(5);
  for (const program of present) {
    const cells = [
      await figure(program, `cold ${server.name}`, true, () => cold(program, server), (value, base) => ms(value) + ratio(value, base)),
      await figure(program, `command ${server.name}`, program.call, () => warmCommand(program, server), ms),
      await figure(program, `session ${server.name}`, program.agent, () => warmSession(program, server), (value, base) => ms(value) + ratio(value, base)),
      await figure(program, `kill ${server.name}`, !program.alone, () => afterKill(program, server), ({ took, failures }) => `${ms(took)}${failures ? `, ${failures} calls failed` : ""}`),
    ];
    print([program.shown, ...cells]);
  }
  console.log();
}

if (tables.includes("sessions")) {
  print(["fixture: calls per second", ...sessions.map((many) => `${many} sessions`)]);
  rule(sessions.length + 1);
  for (const program of present.filter(({ agent }) => agent)) {
    const cells = [];
    for (const many of sessions) cells.push(await figure(program, `${many} sessions`, true, () => crowd(program, servers[0], many), (value, base) => value.toFixed(0) + ratio(value, base)));
    print([program.shown, ...cells]);
  }
  console.log();
}

if (tables.includes("memory")) {
  print([`MiB (PSS), ${SERVERS} servers`, ...crowds.map((many) => `${many} clients`)]);
  rule(crowds.length + 1);
  for (const program of present.filter(({ agent }) => agent)) {
    const cells = [];
    for (const many of crowds) cells.push(await figure(program, `memory of ${many}`, true, () => memory(program, many), (value, base) => value.toFixed(0) + ratio(value, base)));
    print([program.shown, ...cells]);
  }
}
for (const { name, absent } of programs.filter(({ absent }) => absent)) console.log(`\nLeft out: ${name}: ${absent}`);
for (const note of notes) console.log(`\nFails: ${note}`);
rmSync(workspace, { recursive: true, force: true });
process.exit(0);
