"""A server of the Python SDK over HTTP: `remote.py streamable-http|sse PORT [json|stateless]`."""

import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("remote-python")


@server.tool()
def shout(text: str) -> str:
    """Says it in capitals."""
    return text.upper()


@server.tool()
async def count(to: int, ctx: Context) -> int:
    """Counts, and tells how far it is."""
    for step in range(to):
        await ctx.report_progress(step + 1, to)
        await anyio.sleep(0.01)
    return to


transport, port, *flags = sys.argv[1:]
options = {"host": "127.0.0.1", "port": int(port)}
if transport == "streamable-http":
    options["json_response"] = "json" in flags
    options["stateless_http"] = "stateless" in flags
server.run(transport, **options)
