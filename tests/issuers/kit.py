"""What every stack for Python needs: options, protected MCP servers, and a port on which a test expires tokens and reads
what happened. The MCP servers are those of the Python SDK.
"""

import argparse
import http.server
import json
import logging
import threading
import warnings

import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer

parser = argparse.ArgumentParser()
parser.add_argument("--ports", default="0,0,0")
parser.add_argument("--no-refresh", action="store_true")
parser.add_argument("--deny-public-clients", action="store_true")
parser.add_argument("--method", help="the method that the answer of a registration names, whatever was asked for")
parser.add_argument("--sub-only", action="store_true")
parser.add_argument("--client", action="append", default=[], help="ID,SECRET,METHOD,REDIRECT of an own client")
options = parser.parse_args()

ports = dict(zip(("issuer", "one", "two"), map(int, options.ports.split(","))))
issuer = f"http://127.0.0.1:{ports['issuer']}"
servers = {name: f"http://127.0.0.1:{ports[name]}/mcp" for name in ("one", "two")}
own_clients = [text.split(",") for text in options.client]

# How often each thing happened, and every refusal of the issuer in its own words.
happened = {"register": 0, "code": 0, "refresh": 0, "refused": []}
stale = set()
seen = set()

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)


def count(what):
    happened[what] += 1


def refused(words):
    happened["refused"].append(words)


def fresh(token):
    """Returns true if the test has not expired this token, which is remembered until it does."""
    seen.add(token)
    return token not in stale


class Verifier:
    def __init__(self, verify):
        self.verify = verify

    async def verify_token(self, token):
        return self.verify(token) if fresh(token) else None


def add_tools(server, user=lambda: get_access_token().subject or "somebody"):
    @server.tool()
    def whoami() -> str:
        """Who is signed in."""
        return user()

    @server.tool()
    def write() -> str:
        """Needs the scope write."""
        return "written"


def needs_scope(app, name, verify):
    """Refuses the tool `write` without its scope. The challenge names all scopes, as the SDK's own does."""
    metadata = f"http://127.0.0.1:{ports[name]}/.well-known/oauth-protected-resource/mcp"
    challenge = f'Bearer error="insufficient_scope", scope="read write", resource_metadata="{metadata}"'

    async def wrapped(scope, receive, send):
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != "/mcp":
            return await app(scope, receive, send)
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        given = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
        token = verify(given) if given not in stale else None
        if b'"tools/call"' in body and b'"write"' in body and token and "write" not in token.scopes:
            headers = [(b"www-authenticate", challenge.encode()), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            return await send({"type": "http.response.body", "body": b""})
        parts = [{"type": "http.request", "body": body, "more_body": False}]

        async def again():
            return parts.pop() if parts else await receive()

        await app(scope, again, send)

    return wrapped


def serve(app, port):
    """Serves an ASGI application in a thread, and returns when it listens."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        threading.Event().wait(0.02)


def protect(name, verify, scopes=("read",), has_audience=False):
    """Serves one protected MCP server. `verify` returns an `AccessToken` for a token of the issuer."""
    settings = AuthSettings(
        issuer_url=issuer,
        resource_server_url=servers[name],
        required_scopes=list(scopes),
        validate_token_resource=has_audience,
    )
    server = MCPServer("protected", token_verifier=Verifier(verify), auth=settings)
    add_tools(server)
    serve(needs_scope(server.streamable_http_app(json_response=True, stateless_http=True), name, verify), ports[name])


class Control(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/expire":
            stale.update(seen)
        body = json.dumps(happened).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def ready():
    """Opens the port of the test, prints the line that says that everything is served, and stays."""
    control = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Control)
    line = {"issuer": issuer, **servers, "control": f"http://127.0.0.1:{control.server_port}"}
    print(json.dumps(line), flush=True)
    control.serve_forever()
