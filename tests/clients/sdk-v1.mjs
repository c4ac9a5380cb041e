// The story with version 1 of the TypeScript SDK, which knows the old era only.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { tell } from "./story.mjs";

await tell(async ({ command, args, env }, told) => {
  const client = new Client({ name: "sdk-v1", version: "1" }, { capabilities: { elicitation: {} } });
  client.onerror = told.failed;
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => told.elicited(params.message));
  client.setNotificationHandler(ToolListChangedNotificationSchema, told.changed);
  const transport = new StdioClientTransport({ command, args, env, stderr: "inherit" });
  let version;
  transport.setProtocolVersion = (agreed) => (version = agreed);
  await client.connect(transport);
  return {
    version,
    tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: (name, input, options) => client.callTool({ name, arguments: input }, undefined, options),
    resources: async () => (await client.listResources()).resources,
    read: (uri) => client.readResource({ uri }),
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: (name) => client.getPrompt({ name }),
    close: () => client.close(),
  };
});
