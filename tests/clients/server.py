"""The same on the Python SDK, which serves both eras."""

import sys
from pathlib import Path
from typing import Annotated

import anyio
from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, MCPServer, Resolve
from pydantic import BaseModel

JOURNAL = Path(sys.argv[1])
server = MCPServer("sdk-python", version="1")


class Sum(BaseModel):
    sum: float


class Person(BaseModel):
    name: str


def note(line: str) -> None:
    with JOURNAL.open("a") as journal:
        journal.write(line + "\n")


@server.tool()
def add(a: float, b: float) -> Sum:
    return Sum(sum=a + b)


@server.tool(structured_output=False)
async def steps(ctx: Context) -> str:
    for step in (1, 2, 3):
        await ctx.report_progress(step, 3, f"step {step}")
    return "done"


async def who() -> Elicit[Person]:
    return Elicit("your name?", Person)


@server.tool(structured_output=False)
async def ask(person: Annotated[ElicitationResult[Person], Resolve(who)]) -> dict:
    if isinstance(person, AcceptedElicitation):
        return {"action": "accept", "content": {"name": person.data.name}}
    return {"action": person.action}


@server.tool(structured_output=False)
async def wait() -> str:
    note("waiting")
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        note("cancelled")
        raise
    return "never"


def more() -> str:
    return "more"


@server.tool(structured_output=False)
async def change(ctx: Context) -> str:
    server.add_tool(more)
    await ctx.notify_tools_changed()
    return "changed"


server.run()
