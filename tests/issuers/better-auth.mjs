// better-auth with its mcp plugin: an OpenID provider whose users have a password, with pages for sign-in and consent.
//
// This stack shows: `prompt=select_account` is an error page without a redirect unless the application has such a page;
// an unknown client also gets a page, and an unknown refresh token is reported before the unknown client; an ID token
// with only `sub`, whose user is named at the userinfo endpoint; an issuer with a path; tokens as JWTs.

import http from "node:http";
import { mcp } from "@better-auth/mcp";
import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { jwt } from "better-auth/plugins";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { count, fetchListener, issuer, listen, ports, protect, ready, refused, servers } from "./kit.mjs";

const USER = { email: "ada@example.com", password: "a password of a test", name: "Ada" };
const scopes = ["openid", "email", "profile", "offline_access", "read", "write"];
const tables = ["user", "session", "account", "verification", "jwks", "rateLimit"];
const more = ["Client", "AccessToken", "RefreshToken", "Consent", "Resource", "ClientResource", "ClientAssertion", "DpopReplay"];
const database = Object.fromEntries([...tables, ...more.map((name) => `oauth${name}`)].map((name) => [name, []]));

const auth = betterAuth({
  baseURL: issuer,
  secret: "a secret of a test, which is long enough",
  database: memoryAdapter(database),
  emailAndPassword: { enabled: true },
  rateLimit: { enabled: false },
  logger: { level: "error" },
  plugins: [
    jwt(),
    mcp({
      resource: servers.one,
      resources: [servers.two],
      clientRegistrationDefaultResources: [servers.two],
      loginPage: "/login",
      consentPage: "/consent",
      scopes,
      clientRegistrationAllowedScopes: scopes,
      allowDynamicClientRegistration: true,
      allowUnauthenticatedClientRegistration: true,
      refreshTokenReuseInterval: 0,
    }),
  ],
});
await auth.api.signUpEmail({ body: USER });
const base = `${issuer}/api/auth`;

/** Sends what a page of the application sends with its script, and follows the answer. */
async function submit(request, path, values) {
  const headers = { "content-type": "application/json", origin: issuer, cookie: request.headers.get("cookie") ?? "" };
  const body = JSON.stringify({ ...values, oauth_query: new URL(request.url).search.slice(1) });
  const response = await auth.handler(new Request(`${base}${path}`, { method: "POST", headers, body }));
  const answer = await response.json();
  const next = new Response(JSON.stringify(answer), { status: answer.url ? 302 : 400 });
  if (answer.url) next.headers.set("location", answer.url);
  for (const cookie of response.headers.getSetCookie()) next.headers.append("set-cookie", cookie);
  return next;
}

async function answer(request) {
  const { pathname } = new URL(request.url);
  if (pathname === "/login") return submit(request, "/sign-in/email", { email: USER.email, password: USER.password });
  if (pathname === "/consent") return submit(request, "/oauth2/consent", { accept: true });
  const grant = pathname.endsWith("/token") ? new URLSearchParams(await request.clone().text()).get("grant_type") : "";
  const response = await auth.handler(request);
  const what = grant === "refresh_token" ? "refresh" : grant ? "code" : pathname.endsWith("/register") ? "register" : "";
  if (what && response.ok) count(what);
  if (what && !response.ok) refused(await response.clone().text());
  return response;
}
await listen(http.createServer(fetchListener(answer)), ports.issuer);

const keys = createRemoteJWKSet(new URL(`${base}/jwks`));
async function verify(token) {
  const { payload } = await jwtVerify(token, keys).catch(() => ({}));
  if (!payload) return undefined;
  const audience = [payload.aud].flat().find((one) => Object.values(servers).includes(one));
  return { user: payload.sub, scopes: payload.scope.split(" "), audience, client: payload.azp };
}
await protect("one", verify, { issuer: base });
await protect("two", verify, { issuer: base });
await ready();
