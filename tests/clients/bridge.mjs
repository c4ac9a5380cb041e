// Streamable HTTP in front of an MCP server that speaks over stdio, for suites that only speak HTTP:
//
//   node bridge.mjs PROGRAM ARGUMENT...
//
// prints the URL that it serves as its first line and ends with its standard input. A session of the old
// era has its own process. All requests of the new era share one.
//
// Invariant: messages pass through unchanged, except for the ids of the new era's requests, which several
// clients may have chosen alike. A suite's findings are therefore about the server, except for what only
// exists in HTTP: status codes, headers, sessions, and the check of where a request comes from.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const VERSION = "io.modelcontextprotocol/protocolVersion";
const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
const HEADER_MISMATCH = -32020;
// The HTTP status of a modern server's errors. The old era has 200 for all of them.
const STATUS = new Map([[-32601, 404], [-32602, 400], [-32020, 400], [-32021, 400], [-32022, 400]]);

const [program, ...args] = process.argv.slice(2);
const sessions = new Map();
let shared;

/** One process of the server and the HTTP requests that wait for it. */
class Server {
  #process = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  #open = new Map();
  #next = 0;
  /** The old era's stream for what belongs to no request. */
  events;

  constructor(renumbers) {
    this.renumbers = renumbers;
    createInterface({ input: this.#process.stdout }).on("line", (line) => this.#receive(JSON.parse(line)));
    this.#process.stdin.on("error", () => {});
    this.#process.on("close", () => {
      for (const { response } of this.#open.values()) response.destroy();
    });
  }

  send(message) {
    this.#process.stdin.write(JSON.stringify(message) + "\n");
  }

  request(message, response) {
    const id = this.renumbers ? ++this.#next : message.id;
    this.#open.set(id, { id: message.id, token: message.params?._meta?.progressToken, response });
    response.on("close", () => {
      // The new era cancels by hanging up.
      if (this.#open.delete(id) && this.renumbers) {
        this.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      }
    });
    this.send({ ...message, id });
  }

  end() {
    this.#process.stdin.end();
  }

  #receive(message) {
    if (message.method === undefined) {
      const request = this.#open.get(message.id);
      this.#open.delete(message.id);
      if (request) answer(request.response, { ...message, id: request.id }, this.renumbers);
      return;
    }
    const stream = this.#streamOf(message);
    if (stream) push(stream, message);
  }

  #streamOf({ method, params }) {
    const open = [...this.#open.values()];
    const subscription = params?._meta?.[SUBSCRIPTION];
    if (subscription !== undefined) {
      const request = this.#open.get(subscription);
      if (request) params._meta[SUBSCRIPTION] = request.id;
      return request?.response;
    }
    if (method === "notifications/progress") {
      return open.find(({ token }) => token === params.progressToken)?.response;
    }
    if (/\/(list_changed|updated)$/.test(method)) return this.events;
    // A line does not tell which request made the server ask or log: the latest is the best guess.
    return open.at(-1)?.response ?? this.events;
  }
}

function push(response, message) {
  if (!response.headersSent) response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.write(`data: ${JSON.stringify(message)}\n\n`);
}

function answer(response, message, modern) {
  if (response.headersSent) {
    push(response, message);
    response.end();
  } else {
    json(response, (modern && STATUS.get(message.error?.code)) || 200, message);
  }
}

function json(response, status, body) {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

function refuse(response, status, code, message, id = null) {
  json(response, status, { jsonrpc: "2.0", id, error: { code, message } });
}

/** A browser that was sent here by a page from elsewhere says so in one of these. */
function isLocal({ host, origin }) {
  const names = [`http://${host}`, origin].filter(Boolean).map((url) => URL.parse(url)?.hostname);
  return names.every((name) => ["localhost", "127.0.0.1", "[::1]"].includes(name));
}

function mismatch(headers, { method, params }) {
  const name = { "tools/call": params?.name, "prompts/get": params?.name, "resources/read": params?.uri }[method];
  const wanted = { "mcp-protocol-version": params?._meta?.[VERSION], "mcp-method": method, "mcp-name": name };
  return Object.keys(wanted).find((key) => wanted[key] !== undefined && headers[key] !== wanted[key]);
}

function isModern(headers, message) {
  return message.params?._meta?.[VERSION] !== undefined || headers["mcp-protocol-version"] >= "2026-07-28";
}

function post(headers, response, message) {
  if (isModern(headers, message)) {
    const wrong = mismatch(headers, message);
    if (wrong) return refuse(response, 400, HEADER_MISMATCH, `${wrong} differs from the body`, message.id);
    shared ??= new Server(true);
    return deliver(shared, response, message);
  }
  let session = sessions.get(headers["mcp-session-id"]);
  if (!session) {
    if (message.method !== "initialize") return refuse(response, 404, -32001, "no such session", message.id);
    const id = randomUUID();
    session = new Server(false);
    sessions.set(id, session);
    response.setHeader("Mcp-Session-Id", id);
  }
  deliver(session, response, message);
}

function deliver(server, response, message) {
  if (message.method !== undefined && message.id !== undefined) return server.request(message, response);
  server.send(message);
  response.writeHead(202).end();
}

const http = createServer(async (request, response) => {
  const { headers, method } = request;
  if (!isLocal(headers)) return refuse(response, 403, -32000, "not from this machine");
  const session = sessions.get(headers["mcp-session-id"]);
  if (method === "POST") {
    try {
      const chunks = await request.toArray();
      post(headers, response, JSON.parse(Buffer.concat(chunks).toString()));
    } catch (error) {
      refuse(response, 400, -32700, String(error));
    }
  } else if (method === "DELETE" && session) {
    session.end();
    sessions.delete(headers["mcp-session-id"]);
    response.writeHead(200).end();
  } else if (method === "GET" && session) {
    session.events = response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.flushHeaders();
  } else {
    refuse(response, 405, -32000, "nothing here for this method");
  }
});

http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
process.stdin.resume().on("end", () => process.exit());
