// The code that every stack for Node needs: options, protected MCP servers, and a port on which a test expires tokens
// and reads what happened. The MCP servers are those of the TypeScript SDK.

import http from "node:http";
import { parseArgs } from "node:util";
import express from "express";
import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

/** The options of all stacks; each says in its head which it knows. */
export const { values: options } = parseArgs({
  options: {
    ports: { type: "string", default: "0,0,0" },
    "no-refresh": { type: "boolean", default: false },
    "always-refresh": { type: "boolean", default: false },
    "deny-public-clients": { type: "boolean", default: false },
    "wrong-audience": { type: "boolean", default: false },
    client: { type: "string", multiple: true, default: [] },
  },
});

const [issuerPort, onePort, twoPort] = options.ports.split(",").map(Number);
export const issuer = `http://127.0.0.1:${issuerPort}`;
export const servers = { one: `http://127.0.0.1:${onePort}/mcp`, two: `http://127.0.0.1:${twoPort}/mcp` };
export const ports = { issuer: issuerPort, one: onePort, two: twoPort };

/** The clients of `--client ID,SECRET,METHOD,REDIRECT`, in the words of RFC 7591. */
export const ownClients = options.client.map((text) => {
  const [client_id, client_secret, token_endpoint_auth_method, redirect] = text.split(",");
  return { client_id, client_secret: client_secret || undefined, token_endpoint_auth_method, redirect_uris: [redirect] };
});

/** How often each thing happened, and every refusal of the issuer in its own words. */
const happened = { register: 0, code: 0, refresh: 0, refused: [] };
const stale = new Set();
const seen = new Set();

export function count(what) {
  happened[what] += 1;
}

export function refused(words) {
  happened.refused.push(words);
}

export const text = (value) => ({ content: [{ type: "text", text: value }] });

function tools(user) {
  const server = new McpServer({ name: "protected", version: "1" });
  server.registerTool("whoami", { description: "Who is signed in." }, () => text(user));
  server.registerTool("write", { description: "Needs the scope write." }, () => text("written"));
  return server;
}

/** The JSON-RPC part of a protected server: `/mcp` without sessions. */
async function answer(req, res) {
  const server = tools(req.auth.extra.user);
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  res.on("close", () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(req, res, req.body);
}

/**
 * A middleware that refuses `write` without its scope. Its challenge names this scope alone, as RFC 6750 permits.
 */
function needsScope(metadata) {
  return (req, res, next) => {
    const wants = req.body?.method === "tools/call" && req.body.params.name === "write";
    if (!wants || req.auth.scopes.includes("write")) return next();
    const challenge = `Bearer error="insufficient_scope", scope="write", resource_metadata="${metadata}"`;
    res.set("WWW-Authenticate", challenge).status(403).json({ error: "insufficient_scope" });
  };
}

/**
 * Serves one protected MCP server. `verify` returns `{ user, scopes, audience, client }` for a token of the issuer; a
 * server whose tokens have no audience leaves it out.
 */
export function protect(name, verify, { issuer: named = issuer, scopes = ["read"] } = {}) {
  const resource = servers[name];
  const metadata = `http://127.0.0.1:${ports[name]}/.well-known/oauth-protected-resource/mcp`;
  const verifyAccessToken = async (token) => {
    const found = stale.has(token) ? undefined : await verify(token);
    if (!found) throw new InvalidTokenError("the token is unknown or has expired");
    if (found.audience && found.audience !== resource) {
      throw new InvalidTokenError(`the token is for ${found.audience}`);
    }
    seen.add(token);
    const expiresAt = Math.floor(Date.now() / 1000) + 3600;
    return { token, clientId: found.client, scopes: found.scopes, expiresAt, extra: { user: found.user } };
  };
  const app = express();
  app.use(express.json());
  app.get("/.well-known/oauth-protected-resource/mcp", (_, res) => {
    res.json({ resource, authorization_servers: [named], scopes_supported: scopes });
  });
  const bearer = requireBearerAuth({
    verifier: { verifyAccessToken },
    requiredScopes: scopes,
    resourceMetadataUrl: metadata,
  });
  app.all("/mcp", bearer, needsScope(metadata), answer);
  return listen(http.createServer(app), ports[name]);
}

/** The listener of a server whose requests a handler of the Fetch API answers. */
export function fetchListener(handler) {
  return async (req, res) => {
    const parts = [];
    for await (const part of req) parts.push(part);
    const body = parts.length ? Buffer.concat(parts) : undefined;
    const request = new Request(new URL(req.url, issuer), { method: req.method, headers: req.headers, body });
    const response = await handler(request);
    res.statusCode = response.status;
    for (const [name, value] of response.headers) res.appendHeader(name, value);
    res.end(Buffer.from(await response.arrayBuffer()));
  };
}

export function listen(server, port) {
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server)));
}

/** Opens the port of the test, and prints the line that says that everything is served. */
export async function ready() {
  const control = http.createServer((req, res) => {
    if (req.url === "/expire") seen.forEach((token) => stale.add(token));
    const body = JSON.stringify(happened);
    res.setHeader("Content-Length", Buffer.byteLength(body)).end(body);
  });
  await listen(control, 0);
  const line = { issuer, ...servers, control: `http://127.0.0.1:${control.address().port}` };
  console.log(JSON.stringify(line));
}
