// Refused before it is sent, and if the isolate has no room for it, that is said.
// must: error limit
// must: error memory
// must: error runtime
const part = "x".repeat(100_000_000);
for (let sent = 0; sent < 5; sent++) mux.emit({ type: "text", text: part });
