"""The program of differential.mjs with the Python SDK."""

import json
import logging
import math
import re
import ssl
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

MAX_PAGES = 5
SURROGATE = re.compile("[\ud800-\udfff]")

# Reading the certificates takes longer than a whole session with a server of this test.
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


async def main() -> None:
    logging.disable()
    file, at_once, seconds = sys.argv[1:]
    servers = [json.loads(line) for line in Path(file).read_text().splitlines()]
    async with anyio.create_task_group() as workers:
        for _ in range(int(at_once)):
            workers.start_soon(work, servers, float(seconds))


async def work(servers: list[dict], seconds: float) -> None:
    while servers:
        server = servers.pop(0)
        seen = {"name": server["name"], "tools": None, "schema": None, "answer": None, "error": None}
        # Twice for connecting, once for each request, and some for ending a process.
        with anyio.move_on_after(seconds * 6):
            try:
                await try_server(server, seconds, seen)
            except BaseException as error:
                if isinstance(error, anyio.get_cancelled_exc_class()):
                    raise
                seen["error"] = seen["error"] or description(error)[:2000]
        print(json.dumps(well_formed(seen)), flush=True)


async def try_server(server: dict, seconds: float, seen: dict) -> None:
    async with Client(transport(server), read_timeout_seconds=seconds) as client:
        try:
            await list_and_call(client, seen)
        except Exception as error:
            # Leaving the session can fail as well, with a less useful error.
            seen["error"] = description(error)[:2000]


async def list_and_call(client: Client, seen: dict) -> None:
    tools = []
    cursor = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += [tool.name for tool in page.tools]
        schemas = [tool.input_schema for tool in page.tools if tool.name == "echo"]
        seen["schema"] = seen["schema"] or next(iter(schemas), None)
        cursor = page.next_cursor
        if not cursor:
            break
    seen["tools"] = tools
    result = await client.call_tool("echo", {"text": "hi"})
    blocks = [
        {"type": block.type, "text": block.text if block.type == "text" else None}
        for block in result.content
    ]
    seen["answer"] = {
        "content": blocks,
        "structured": result.structured_content,
        "isError": bool(result.is_error),
    }


def transport(server: dict):
    if server["transport"] == "stdio":
        command = StdioServerParameters(command=server["command"], args=server["args"])
        return stdio_client(command, errlog=open("/dev/null", "w"))
    if server["transport"] == "sse":
        return sse_client(server["url"], httpx_client_factory=http_client)
    return streamable(server["url"])


@asynccontextmanager
async def streamable(url: str):
    async with http_client() as client, streamable_http_client(url, http_client=client) as streams:
        yield streams


def http_client(headers=None, timeout=None, auth=None) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        headers=headers, timeout=timeout or 30, auth=auth, verify=NO_CERTIFICATES
    )


def description(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def well_formed(value):
    """The value as JSON can have it: no halves of surrogate pairs, no NaN."""
    if isinstance(value, str):
        return SURROGATE.sub("\ufffd", value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {well_formed(name): well_formed(member) for name, member in value.items()}
    if isinstance(value, list):
        return [well_formed(element) for element in value]
    return value


anyio.run(main)
