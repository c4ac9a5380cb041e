// The story with version 2 of the TypeScript SDK, which knows both eras.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { tell } from "./story.mjs";

await tell(async ({ command, args, env, era }, told) => {
  const onChanged = (error) => (error ? told.failed(error) : told.changed());
  const options = {
    capabilities: { elicitation: {} },
    versionNegotiation: { mode: era === "modern" ? "auto" : "legacy" },
    listChanged: { tools: { onChanged } },
  };
  const client = new Client({ name: "sdk-v2", version: "1" }, options);
  client.onerror = told.failed;
  client.setRequestHandler("elicitation/create", ({ params }) => told.elicited(params.message));
  await client.connect(new StdioClientTransport({ command, args, env, stderr: "inherit" }));
  return {
    version: client.getNegotiatedProtocolVersion(),
    tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: (name, input, options) => client.callTool({ name, arguments: input }, options),
    resources: async () => (await client.listResources()).resources,
    read: (uri) => client.readResource({ uri }),
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: (name) => client.getPrompt({ name }),
    close: () => client.close(),
  };
});
