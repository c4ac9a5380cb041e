"""A tool that asks as tools did before 2026-07-28, on the Python SDK, which serves both eras: `asks.py [PORT]`."""

import sys

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("asks", version="1", instructions="Ask before you write.")


class Person(BaseModel):
    name: str


@server.tool()
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("your name?", Person)
    return answer.data.name if answer.action == "accept" else answer.action


if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run()
