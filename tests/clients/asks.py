"""A tool that asks as tools did before 2026-07-28, on the Python SDK, which serves both eras."""

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("asks", version="1", instructions="Ask before you write.")


class Person(BaseModel):
    name: str


@server.tool()
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("your name?", Person)
    return answer.data.name if answer.action == "accept" else answer.action


server.run()
