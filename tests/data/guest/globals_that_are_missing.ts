const names = [
  "fetch", "XMLHttpRequest", "WebSocket", "EventSource", "require", "module", "exports", "process", "Deno", "Bun", "Buffer",
  "global", "window", "self", "document", "navigator", "localStorage", "eval", "WebAssembly", "SharedArrayBuffer", "Atomics",
  "Worker", "importScripts", "__muxHost", "__bootstrap", "setImmediate", "gc", "prompt", "alert",
  "Request", "Response", "Headers", "axios", "http", "https", "net", "got", "fs", "path", "__dirname", "__filename", "os",
  "child_process", "Blob", "File", "location", "sessionStorage",
];
const found = names.filter((name) => name in globalThis);
return { found, thisIsGlobal: this === globalThis || this === undefined };
