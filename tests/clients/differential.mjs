// The TypeScript SDK's results with many servers: it lists the tools of each, calls `echo`, and prints one line of
// JSON per server. differential.py does the same. tests/src/differential/sdks.rs reads the lines.
//
// Arguments: a file with one server per line, the number of servers at a time, the time limit of a request in seconds.

import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const MAX_PAGES = 5;
const [file, atOnce, seconds] = process.argv.slice(2);
const options = { timeout: Number(seconds) * 1000 };

const servers = readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
// An answer that the SDK rejects outside of a request ends no request of another server.
process.on("unhandledRejection", () => {});
process.on("uncaughtException", () => {});
await Promise.all(Array.from({ length: Number(atOnce) }, worker));
process.exit();

async function worker() {
  for (let server = servers.shift(); server; server = servers.shift()) {
    const seen = { name: server.name, tools: null, schema: null, answer: null, error: null };
    const client = new Client({ name: "differential", version: "1" });
    try {
      await tryServer(client, server, seen);
    } catch (error) {
      seen.error = String(error?.message ?? error).slice(0, 2000);
    }
    // Closing waits for servers that do not end. The next one need not.
    client.close().catch(() => {});
    process.stdout.write(JSON.stringify(wellFormed(seen)) + "\n");
  }
}

async function tryServer(client, server, seen) {
  await within(client.connect(transport(server), options));
  const tools = [];
  let cursor;
  for (let page = 0; page < MAX_PAGES; page++) {
    const list = await client.listTools(cursor && { cursor }, options);
    tools.push(...list.tools.map((tool) => tool.name));
    seen.schema ??= list.tools.find((tool) => tool.name === "echo")?.inputSchema ?? null;
    cursor = list.nextCursor;
    if (!cursor) break;
  }
  seen.tools = tools;
  const result = await client.callTool({ name: "echo", arguments: { text: "hi" } }, undefined, options);
  seen.answer = {
    content: result.content.map(({ type, text }) => ({ type, text: type === "text" ? text : null })),
    structured: result.structuredContent ?? null,
    isError: result.isError ?? false,
  };
}

function transport({ transport, url, command, args }) {
  if (transport === "stdio") return new StdioClientTransport({ command, args, stderr: "ignore" });
  if (transport === "sse") return new SSEClientTransport(new URL(url));
  return new StreamableHTTPClientTransport(new URL(url));
}

// The value without halves of surrogate pairs.
function wellFormed(value) {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map((member) => member.map(wellFormed)));
}

// Connecting has no time limit before the first request, such as while HTTP+SSE waits for its endpoint.
function within(promise) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("no connection in time")), options.timeout * 2);
  });
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}
