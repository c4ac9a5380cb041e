const messages = [];
for (const args of [[1, 2], "text", 7, true, null]) {
  messages.push(await mux.fix.add(args as any).catch((error) => `${error.kind}: ${error.message}`));
}
return messages;
