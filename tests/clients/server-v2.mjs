// The same on version 2 of the TypeScript SDK, in the new era.

import { appendFileSync } from "node:fs";
import { McpServer, acceptedContent, inputRequired } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const [journal] = process.argv.slice(2);
const text = (value) => ({ content: [{ type: "text", text: typeof value === "string" ? value : JSON.stringify(value) }] });

function make() {
  const server = new McpServer({ name: "sdk-v2", version: "1" });
  server.registerTool(
    "add",
    {
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b }) => ({ ...text({ sum: a + b }), structuredContent: { sum: a + b } }),
  );
  server.registerTool("steps", {}, async ({ mcpReq }) => {
    for (const progress of [1, 2, 3]) {
      const progressToken = mcpReq._meta.progressToken;
      const params = { progressToken, progress, total: 3, message: `step ${progress}` };
      await mcpReq.notify({ method: "notifications/progress", params });
    }
    return text("done");
  });
  server.registerTool("ask", {}, ({ mcpReq }) => {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
    const content = acceptedContent(mcpReq.inputResponses, "who");
    if (content) return text({ action: "accept", content });
    const who = inputRequired.elicit({ message: "your name?", requestedSchema });
    return inputRequired({ inputRequests: { who } });
  });
  server.registerTool("wait", {}, ({ mcpReq }) => {
    appendFileSync(journal, "waiting\n");
    return new Promise((done) => {
      mcpReq.signal.addEventListener("abort", () => {
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
  return server;
}

serveStdio(make, { legacy: "reject" });
