// The authorization handlers of the TypeScript SDK (`mcpAuthRouter`), with its own demo provider.
//
// This stack shows: an unknown client, as after a restart of this process, gets a JSON page and no redirect; the demo
// has no refresh tokens, so a refresh cannot reveal that the client is unknown; rate limits; no OpenID.
//
// --no-refresh   the demo provider as it is published; otherwise it rotates refresh tokens, and a second use ends the login

import { randomUUID } from "node:crypto";
import http from "node:http";
import express from "express";
import { DemoInMemoryAuthProvider } from "@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js";
import { InvalidGrantError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { mcpAuthRouter } from "@modelcontextprotocol/sdk/server/auth/router.js";
import { count, issuer, listen, options, ports, protect, ready, refused } from "./kit.mjs";

class Rotating extends DemoInMemoryAuthProvider {
  refreshes = new Map();

  async exchangeAuthorizationCode(client, code) {
    count("code");
    const answer = await super.exchangeAuthorizationCode(client, code);
    return options["no-refresh"] ? answer : this.add(answer, randomUUID());
  }

  add(answer, family) {
    const refresh_token = randomUUID();
    this.refreshes.set(refresh_token, { family, access: answer.access_token, used: false });
    return { ...answer, refresh_token };
  }

  async exchangeRefreshToken(client, refreshToken) {
    const found = this.refreshes.get(refreshToken);
    const data = found && this.tokens.get(found.access);
    if (!data || data.clientId !== client.client_id) throw new InvalidGrantError("unknown refresh token");
    if (found.used) {
      refused("a refresh token was used twice");
      for (const [token, one] of this.refreshes) {
        if (one.family === found.family) this.refreshes.delete(token), this.tokens.delete(one.access);
      }
      throw new InvalidGrantError("the refresh token was used already");
    }
    count("refresh");
    found.used = true;
    const token = randomUUID();
    this.tokens.set(token, { ...data, token });
    const answer = { access_token: token, token_type: "bearer", expires_in: 3600, scope: data.scopes.join(" ") };
    return this.add(answer, found.family);
  }
}

const provider = new Rotating();
const store = provider.clientsStore;
const registerClient = store.registerClient.bind(store);
store.registerClient = (client) => (count("register"), registerClient(client));

// Limits for a public demo, which the tests with many refreshes exceed.
const unlimited = { rateLimit: false };
const app = express();
app.use(
  mcpAuthRouter({
    provider,
    issuerUrl: new URL(issuer),
    scopesSupported: ["read", "write"],
    authorizationOptions: unlimited,
    clientRegistrationOptions: unlimited,
    tokenOptions: unlimited,
  }),
);
await listen(http.createServer(app), ports.issuer);

async function verify(token) {
  const found = await provider.verifyAccessToken(token).catch(() => undefined);
  return found && { user: "demo_user", scopes: found.scopes, audience: found.resource?.href, client: found.clientId };
}
await protect("one", verify);
await protect("two", verify);
await ready();
