// Cloudflare's workers-oauth-provider, in Node: a map is its KV namespace, and the user allows everything immediately.
//
// This stack shows: `Public client registration is not allowed` where only methods with a secret are offered; unknown
// values of `prompt` are ignored; an unknown client is an error page; of the refresh tokens the last two are valid.
//
// --deny-public-clients  registrations with the method `none` are refused

import http from "node:http";
import { registerHooks } from "node:module";
import { count, fetchListener, issuer, listen, options, ports, protect, ready, refused, servers } from "./kit.mjs";

// The library's only import from the runtime of Workers is a base class that is not needed here.
registerHooks({
  resolve: (name, context, next) =>
    name === "cloudflare:workers"
      ? { url: "data:text/javascript,export class WorkerEntrypoint {}", shortCircuit: true }
      : next(name, context),
});
const { AuthorizationError, OAuthAuthorizationServer } = await import("@cloudflare/workers-oauth-provider");

const stored = new Map();
const OAUTH_KV = {
  get: async (key, { type } = {}) => {
    const value = stored.get(key) ?? null;
    return value && type === "json" ? JSON.parse(value) : value;
  },
  put: async (key, value) => void stored.set(key, value),
  delete: async (key) => void stored.delete(key),
  list: async ({ prefix = "" }) => ({
    keys: [...stored.keys()].filter((key) => key.startsWith(prefix)).map((name) => ({ name })),
    list_complete: true,
  }),
};
const env = { OAUTH_KV };
const context = { waitUntil: () => {}, passThroughOnException: () => {}, props: {} };

const provider = new OAuthAuthorizationServer({
  issuer,
  resources: Object.values(servers),
  scopesSupported: ["read", "write", "offline_access"],
  clientRegistrationEndpoint: `${issuer}/register`,
  disallowPublicClientRegistration: options["deny-public-clients"],
  clientRegistrationCallback: () => count("register"),
  tokenExchangeCallback: ({ grantType }) => count(grantType === "refresh_token" ? "refresh" : "code"),
  onError: ({ code, description }) => refused(`${code}: ${description}`),
});

async function authorize(request) {
  const api = provider.getOAuthApi(env);
  try {
    const asked = await api.parseAuthRequest(request);
    const { redirectTo } = await api.completeAuthorization({
      request: asked,
      userId: "ada",
      metadata: {},
      scope: asked.scope,
      props: { user: "ada" },
    });
    return Response.redirect(redirectTo, 302);
  } catch (error) {
    if (!(error instanceof AuthorizationError)) throw error;
    refused(`${error.code}: ${error.description}`);
    return error.redirectTo ? Response.redirect(error.redirectTo, 302) : new Response(error.description, { status: 400 });
  }
}

const answer = (request) =>
  new URL(request.url).pathname === "/authorize" ? authorize(request) : provider.fetch(request, env, context);
await listen(http.createServer(fetchListener(answer)), ports.issuer);

for (const name of ["one", "two"]) {
  await protect(name, async (token) => {
    const found = await provider.validateToken(servers[name], token, env);
    return found && { user: found.userId, scopes: found.scope, audience: found.audience, client: found.clientId };
  });
}
await ready();
