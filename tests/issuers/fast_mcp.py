"""FastMCP with its InMemoryOAuthProvider: the MCP server `one` is its own authorization server. `two` names it, too.

It shows: an issuer with the address of the server; required scopes in the metadata and in a 403 without a body; a
registration that binds the scopes; tokens without an audience and without a user; rotation, where the old refresh token
is unknown at once.
"""

from fastmcp import FastMCP
from fastmcp.server.auth.auth import ClientRegistrationOptions, RevocationOptions
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider

import kit


class Provider(InMemoryOAuthProvider):
    async def register_client(self, client_info):
        kit.count("register")
        await super().register_client(client_info)

    async def exchange_authorization_code(self, client, authorization_code):
        kit.count("code")
        return await super().exchange_authorization_code(client, authorization_code)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        kit.count("refresh")
        return await super().exchange_refresh_token(client, refresh_token, scopes)

    async def load_access_token(self, token):
        return await super().load_access_token(token) if kit.fresh(token) else None


origin = f"http://127.0.0.1:{kit.ports['one']}"
kit.issuer = origin
provider = Provider(
    base_url=origin,
    required_scopes=["read"],
    client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["read", "write"]),
    revocation_options=RevocationOptions(enabled=True),
)
server = FastMCP("protected", auth=provider)
kit.add_tools(server, user=lambda: "somebody")
app = server.http_app(path="/mcp", json_response=True, stateless_http=True)
kit.serve(kit.needs_scope(app, "one", provider.access_tokens.get), kit.ports["one"])
kit.protect("two", provider.access_tokens.get)
kit.ready()
