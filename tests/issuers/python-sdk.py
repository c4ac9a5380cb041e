"""The authorization handlers of the Python SDK (`create_auth_routes`), with a provider as its example simple-auth has one.

It shows: a registration binds the scopes, so that a login with more is refused (`Client was not registered with scope`);
a client that is unknown, as after a restart of this process, gets a page and no redirect; only `client_secret_post` and
`none`; no OpenID. The refresh token rotates, and a second use ends the login.

--no-refresh   no refresh tokens, as in the example
"""

import secrets
import time

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette

from kit import count, issuer, options, ports, protect, ready, refused, serve


class Provider(OAuthAuthorizationServerProvider):
    def __init__(self):
        self.clients, self.codes, self.access, self.refresh, self.used = {}, {}, {}, {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        count("register")
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = AuthorizationCode(
            code=secrets.token_hex(16),
            client_id=client.client_id,
            scopes=params.scopes or ["read"],
            expires_at=time.time() + 300,
            subject="ada",
            **params.model_dump(exclude={"state", "scopes"}),
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        count("code")
        del self.codes[authorization_code.code]
        return self.issue(client, authorization_code, authorization_code.scopes, secrets.token_hex(8))

    def issue(self, client, grant, scopes, family):
        holder = {"client_id": client.client_id, "scopes": scopes, "resource": grant.resource, "subject": grant.subject}
        access, refresh = secrets.token_hex(16), None if options.no_refresh else secrets.token_hex(16)
        self.access[access] = family, AccessToken(token=access, **holder)
        if refresh:
            self.refresh[refresh] = family, RefreshToken(token=refresh, **holder)
        return OAuthToken(access_token=access, expires_in=3600, refresh_token=refresh, scope=" ".join(scopes))

    async def load_refresh_token(self, client, refresh_token):
        if refresh_token in self.used:
            refused("a refresh token was used twice")
            self.revoke(self.used[refresh_token])
        return self.refresh.get(refresh_token, (None, None))[1]

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        # Between the two calls another request may have used it.
        if refresh_token.token not in self.refresh:
            raise TokenError("invalid_grant", "refresh token does not exist")
        count("refresh")
        family, _ = self.refresh.pop(refresh_token.token)
        self.used[refresh_token.token] = family
        return self.issue(client, refresh_token, scopes, family)

    async def load_access_token(self, token):
        return self.access.get(token, (None, None))[1]

    async def revoke_token(self, token):
        found = self.access.get(token.token) or self.refresh.get(token.token)
        if found:
            self.revoke(found[0])

    def revoke(self, family):
        for held in (self.access, self.refresh):
            for token in [token for token, (of, _) in held.items() if of == family]:
                del held[token]


provider = Provider()
routes = create_auth_routes(
    provider,
    AnyHttpUrl(issuer),
    client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["read", "write"]),
    revocation_options=RevocationOptions(enabled=True),
)
serve(Starlette(routes=routes), ports["issuer"])
for name in ("one", "two"):
    protect(name, lambda token: provider.access.get(token, (None, None))[1], has_audience=True)
ready()
