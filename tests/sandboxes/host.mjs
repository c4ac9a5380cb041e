// One host of one sandbox: `node host.mjs NAME PROGRAM NEXT MILLISECONDS`. The host runs the program, then the next
// program in a separate sandbox, and writes the results to its third pipe, as lines of JSON. bench.mjs observes the
// end of this process, and everything that the programs do to it.
//
// Limits are those that each project's documentation shows or has as defaults. The time limit is an argument.

import { spawn } from "node:child_process";
import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [name, program, next, limit] = process.argv.slice(2);
const timeout = Number(limit);
const tell = (message) => writeSync(3, `${JSON.stringify(message)}\n`);
const modules = process.env.MUX_BENCH_SANDBOXES;
const load = (file) => import(pathToFileURL(join(modules, file)).href);
const asynchronous = (body) => `(async () => {\n${body}\n})()`;

async function vm2(more) {
  const { default: module } = await load("vm2/index.js");
  process.on("unhandledRejection", () => {});
  return {
    async run(body) {
      const vm = new module.VM({ timeout, bufferAllocLimit: 32 * 1024 * 1024, ...more });
      const waits = more.allowAsync !== false || /\bawait\b/.test(body);
      const value = vm.run(waits ? asynchronous(body) : `(() => {\n${body}\n})()`);
      if (waits) return await value;
      // The documentation warns of looking into one: that runs code of the sandbox without a limit.
      return typeof value === "object" || typeof value === "function" ? `(${typeof value})` : value;
    },
  };
}

// Each gives what runs a program (the body of an asynchronous function), and, where the host is another process, a
// question that it answers as long as it lives.
const sandboxes = {
  async "isolated-vm"() {
    const { default: ivm } = await load("isolated-vm-7/isolated-vm.js");
    return {
      async run(body) {
        const isolate = new ivm.Isolate({ memoryLimit: 128 });
        const context = await isolate.createContext();
        // The timeout of a script does not cover promises that it waits for. A host needs a separate clock.
        const clock = setTimeout(() => isolate.dispose(), timeout + 500);
        try {
          return await context.eval(asynchronous(body), { timeout, promise: true, copy: true });
        } finally {
          clearTimeout(clock);
          if (!isolate.isDisposed) isolate.dispose();
        }
      },
    };
  },

  vm2: () => vm2({ allowAsync: false }),
  "vm2-async": () => vm2({}),

  async "secure-exec"() {
    const { NodeRuntime, createNodeDriver, createNodeRuntimeDriverFactory } = await load("secure-exec/dist/index.js");
    return {
      async run(body) {
        const runtime = new NodeRuntime({
          systemDriver: createNodeDriver(),
          runtimeDriverFactory: createNodeRuntimeDriverFactory(),
          memoryLimit: 128,
          cpuTimeLimitMs: timeout,
        });
        try {
          const ended = await runtime.run(`export default await ${asynchronous(body)};`, "/program.mjs");
          if (ended.code !== 0) throw new Error(ended.errorMessage ?? `exit code ${ended.code}`);
          return ended.exports?.default;
        } finally {
          await runtime.terminate();
        }
      },
    };
  },

  async codemode() {
    const { Miniflare } = await load("miniflare/dist/src/index.js");
    const read = (file) => readFileSync(join(modules, file), "utf8");
    const dist = "@cloudflare/codemode/dist";
    const imported = [...read(`${dist}/index.js`).matchAll(/from "\.\/(.+?\.js)"/g)].map(([, file]) => file);
    const worker = `
      import { DynamicWorkerExecutor } from "./codemode/index.js";
      export default {
        async fetch(request, env) {
          const body = await request.text();
          if (!body) return new Response("alive");
          const executor = new DynamicWorkerExecutor({ loader: env.LOADER, timeout: ${timeout} });
          return Response.json(await executor.execute("async () => {\\n" + body + "\\n}", []));
        },
      };`;
    const flare = new Miniflare({
      compatibilityDate: "2026-01-01",
      compatibilityFlags: ["nodejs_compat"],
      workerLoaders: { LOADER: {} },
      modules: [
        { type: "ESModule", path: "worker.js", contents: worker },
        ...["index.js", ...imported].map((file) => ({ type: "ESModule", path: `codemode/${file}`, contents: read(`${dist}/${file}`) })),
        { type: "ESModule", path: "codemode/acorn", contents: read("acorn/dist/acorn.mjs") },
      ],
    });
    await flare.ready;
    const ask = async (body) => (await flare.dispatchFetch("http://host/", { method: "POST", body })).text();
    return {
      async run(body) {
        const ended = JSON.parse(await ask(body));
        if (ended.error) throw new Error(ended.error);
        return ended.result;
      },
      alive: () => ask(""),
      stop: () => flare.dispose(),
    };
  },

  async utcp() {
    const { CodeModeUtcpClient } = await load("@utcp/code-mode/dist/index.js");
    const client = await CodeModeUtcpClient.create();
    return {
      async run(body) {
        const ended = await client.callToolChain(body, timeout, 128);
        const failed = (ended.logs ?? ended.consoleOutput ?? []).find((line) => line.includes("Code execution failed"));
        if (ended.result === null && failed) throw new Error(failed);
        return ended.result;
      },
    };
  },

  async "ai-sdk"() {
    const { experimental_runCodeMode: run } = await load("@ai-sdk/code-mode/dist/index.js");
    return { run: (body) => run({ js: body, tools: {}, options: { executionPolicy: { timeoutMs: timeout } } }) };
  },

  async mux() {
    const command = (args, input) =>
      new Promise((resolve) => {
        const child = spawn(process.env.MUX_BENCH_MUX, args, { stdio: [input === undefined ? "ignore" : "pipe", "pipe", "inherit"] });
        let said = "";
        child.stdout.on("data", (part) => (said += part));
        child.on("close", () => resolve(said));
        child.stdin?.end(input);
      });
    const pid = async () => JSON.parse(await command(["--json", "status"])).pid;
    await command(["run", "-e", "return 1;"]);
    const daemon = await pid();
    return {
      async run(body) {
        const said = await command(["--json", "run", "-", "--timeout", `${timeout}ms`], body);
        if ((await pid()) !== daemon) process.exit(70);
        const { error, result } = JSON.parse(said);
        if (error) throw Object.assign(new Error(`${error.kind}: ${error.message}`), { name: "" });
        return result;
      },
      alive: pid,
      stop: () => command(["stop", "--now"]),
    };
  },
};

const { run, alive, stop } = await sandboxes[name]();
// The code that a first program loads is not part of the case.
await run("return 1;");
tell({ ready: true });

let over = false;
const pulse = async () => {
  while (!over) {
    await alive?.();
    tell({ tick: true });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};
pulse().catch((error) => tell({ silent: String(error) }));

const end = async (file) => {
  try {
    return { value: shown(await run(readFileSync(file, "utf8"))) };
  } catch (error) {
    return { error: shown(error?.name ? `${error.name}: ${error.message}` : (error?.message ?? error)) };
  }
};
const shown = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? String(value))).slice(0, 600);
const began = Date.now();
tell({ end: await end(program) });
const ranOut = Date.now() - began >= timeout - 50;
tell({ next: await end(next) });
over = true;
// Checks whether any code still computes.
if (ranOut) await new Promise((resolve) => setTimeout(resolve, 2000));
await stop?.();
process.exit(0);
