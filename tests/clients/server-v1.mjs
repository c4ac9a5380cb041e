// A server on version 1 of the TypeScript SDK, which knows only the old era. The events of its
// calls are written to the given file.

import { appendFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const [journal] = process.argv.slice(2);
const server = new McpServer({ name: "sdk-v1", version: "1" });
const text = (value) => ({ content: [{ type: "text", text: typeof value === "string" ? value : JSON.stringify(value) }] });

server.registerTool(
  "add",
  { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
  ({ a, b }) => ({ ...text({ sum: a + b }), structuredContent: { sum: a + b } }),
);
server.registerTool("steps", {}, async ({ _meta, sendNotification }) => {
  for (const progress of [1, 2, 3]) {
    const params = { progressToken: _meta.progressToken, progress, total: 3, message: `step ${progress}` };
    await sendNotification({ method: "notifications/progress", params });
  }
  return text("done");
});
server.registerTool("ask", {}, async () => {
  const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
  return text(await server.server.elicitInput({ message: "your name?", requestedSchema }));
});
server.registerTool("wait", {}, ({ signal }) => {
  appendFileSync(journal, "waiting\n");
  return new Promise((done) => {
    signal.addEventListener("abort", () => {
      appendFileSync(journal, "cancelled\n");
      done(text("cancelled"));
    });
  });
});
server.registerTool("change", {}, () => {
  // The SDK announces the change.
  server.registerTool("more", {}, () => text("more"));
  return text("changed");
});
await server.connect(new StdioServerTransport());
