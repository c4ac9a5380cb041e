"""The story of story.mjs with the Python SDK, which knows both eras."""

import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters

TRIES = 500


async def main() -> None:
    given = json.loads(sys.argv[1])
    seen: dict = {"questions": [], "errors": []}
    changed = anyio.Event()

    async def elicited(_context, params):
        seen["questions"].append(params.message)
        content = {"username": "ada", "email": "ada@example.com"}
        return types.ElicitResult(action="accept", content=content)

    async def heard(message):
        if isinstance(message, Exception):
            seen["errors"].append(str(message))
        elif isinstance(message, types.ToolListChangedNotification):
            changed.set()

    server = StdioServerParameters(command=given["command"], args=given["args"], env=given["env"])
    mode = "auto" if given["era"] == "modern" else "legacy"
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            Client(server, mode=mode, elicitation_callback=elicited, message_handler=heard)
        )
        if given["era"] == "modern":
            await stack.enter_async_context(client.listen(tools_list_changed=True))
        await tell(client, given, seen, changed)
    print(json.dumps(seen))


async def tell(client: Client, given: dict, seen: dict, changed: anyio.Event) -> None:
    async def run(code: str, **options):
        return await client.call_tool("run", {"code": code}, **options)

    seen["version"] = client.protocol_version
    seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]

    seen["progress"] = []

    async def progressed(_progress, _total, message):
        seen["progress"].append(message or "")

    summed = await run(
        """
        const first = await mux.conf.add({ a: 1, b: 2 });
        console.log("halfway");
        const second = await mux.conf.add({ a: first.sum, b: 39 });
        await mux.conf.test_reconnection({});
        return { total: second.sum };
        """,
        progress_callback=progressed,
    )
    seen["result"] = summed.structured_content

    emitted = await run(
        """
        const { content } = await mux.call.raw("conf.test_image_content", {});
        mux.emit(content[0]);
        """
    )
    seen["images"] = [part.mime_type for part in emitted.content if part.type == "image"]

    asked = await run("""return await mux.conf.test_elicitation({ message: "Who are you?" })""")
    seen["answered"] = (asked.structured_content or {}).get("result")

    failed = await run("return await mux.conf.test_error_handling({})")
    error = (failed.structured_content or {}).get("error") or {}
    seen["failed"] = {"isError": failed.is_error, "kind": error.get("kind")}
    try:
        await client.call_tool("no_such_tool", {})
        seen["unknown"] = None
    except MCPError as error:
        seen["unknown"] = error.code

    journal = Path(given["journal"])
    seen["aborted"] = True
    with anyio.CancelScope() as scope:

        async def begun(_progress, _total, message):
            if (message or "").startswith("conf.wait"):
                # A call that is cancelled before it was sent is never heard of at its server.
                while not (journal.exists() and "begun" in journal.read_text()):
                    await anyio.sleep(0.005)
                scope.cancel()

        await run("return await mux.conf.wait({})", progress_callback=begun)
        seen["aborted"] = False
    seen["cancelled"] = False
    for _ in range(TRIES):
        if journal.exists() and "cancelled" in journal.read_text():
            seen["cancelled"] = True
            break
        await client.call_tool("call", {"path": "conf.test_simple_text"})

    await run("await mux.conf.test_trigger_tool_change({})")
    await changed.wait()
    seen["changed"] = True

    resources = (await client.list_resources()).resources
    uri = next((one.uri for one in resources if "static-text" in str(one.uri)), None)
    seen["resource"] = uri and (await client.read_resource(uri)).contents[0].text
    prompts = (await client.list_prompts()).prompts
    name = next((one.name for one in prompts if one.name.endswith("test_simple_prompt")), None)
    seen["prompt"] = name and (await client.get_prompt(name)).messages[0].content.text


anyio.run(main)
