// oidc-provider, an OpenID provider for Node.
//
// This stack shows: `prompt` with an unknown value is refused, and so is a scope that the client did not register; a
// refresh token only for `offline_access` with `prompt=consent`; a rotation that happens before the resource is
// checked, which means that a refused refresh has used the token, and a second use that revokes the whole grant;
// several resources in one authorization request; redirects of native clients; an ID token with only `sub`; error pages
// without a redirect.
//
// --always-refresh   a refresh token whether or not `offline_access` was asked for
// --no-refresh       none at all
// --wrong-audience   tokens for an audience that no server has
// --client …         an own client

import http from "node:http";
import { exportJWK, generateKeyPair, jwtVerify } from "jose";
import Provider, { errors } from "oidc-provider";
import { count, issuer, listen, options, ownClients, ports, protect, ready, refused, servers } from "./kit.mjs";

const known = Object.values(servers);
// Keys of this process: its tokens are not valid after a restart.
const keys = await generateKeyPair("RS256", { extractable: true });
const jwk = { ...(await exportJWK(keys.privateKey)), alg: "RS256", use: "sig" };

const provider = new Provider(issuer, {
  clients: ownClients.map((client) => {
    return { ...client, application_type: "native", grant_types: ["authorization_code", "refresh_token"] };
  }),
  claims: { openid: ["sub"], email: ["email"] },
  cookies: { keys: ["a key of a test"] },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      getResourceServerInfo: (_, resource) => {
        if (!known.includes(resource)) throw new errors.InvalidTarget();
        const audience = options["wrong-audience"] ? `${resource}/other` : resource;
        return { scope: "read write", audience, accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } };
      },
      useGrantedResource: () => true,
    },
  },
  findAccount: (_, user) => ({ accountId: user, claims: () => ({ sub: user, email: `${user}@example.com` }) }),
  jwks: { keys: [jwk] },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  ...(options["always-refresh"] && { issueRefreshToken: () => true }),
  ...(options["no-refresh"] && { issueRefreshToken: () => false }),
  rotateRefreshToken: true,
  scopes: ["openid", "offline_access", "read", "write"],
  ttl: { AccessToken: 3600, Grant: 86400, IdToken: 3600, Interaction: 600, RefreshToken: 86400, Session: 86400 },
});

provider.on("registration_create.success", () => count("register"));
provider.on("grant.success", (ctx) => count(ctx.oidc.params.grant_type === "refresh_token" ? "refresh" : "code"));
for (const where of ["grant", "authorization", "registration_create"]) {
  provider.on(`${where}.error`, (_, error) => refused(`${error.error}: ${error.error_detail ?? error.error_description}`));
}
provider.on("server_error", (_, error) => console.error(error));

/** The person chooses a user, and allows everything that was asked for. */
async function consent(req, res) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(req, res);
  if (req.method === "GET") {
    const page = `<form method="post"><input name="user" value="ada"><button>${prompt.name}</button></form>`;
    return res.setHeader("Content-Type", "text/html").end(page);
  }
  if (prompt.name === "login") {
    const user = new URLSearchParams(await body(req)).get("user");
    return provider.interactionFinished(req, res, { login: { accountId: user } });
  }
  const found = grantId && (await provider.Grant.find(grantId));
  const grant = found || new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  const { missingOIDCScope = [], missingResourceScopes = {} } = prompt.details;
  grant.addOIDCScope(missingOIDCScope.join(" "));
  for (const [resource, scopes] of Object.entries(missingResourceScopes)) {
    grant.addResourceScope(resource, scopes.join(" "));
  }
  return provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: true });
}

async function body(req) {
  let all = "";
  for await (const part of req) all += part;
  return all;
}

const answer = provider.callback();
const server = http.createServer((req, res) => {
  if (!req.url.startsWith("/interaction/")) return answer(req, res);
  consent(req, res).catch((error) => res.writeHead(400).end(String(error)));
});
await listen(server, ports.issuer);

async function verify(token) {
  const { payload } = await jwtVerify(token, keys.publicKey, { issuer }).catch(() => ({}));
  return payload && { user: payload.sub, scopes: payload.scope.split(" "), audience: payload.aud, client: payload.client_id };
}
await protect("one", verify);
await protect("two", verify);
await ready();
