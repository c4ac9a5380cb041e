// What a program elsewhere has, it has not here.
// must: result []
return ["process", "require", "module", "fetch", "XMLHttpRequest", "WebSocket", "EventSource", "Worker", "SharedArrayBuffer", "WebAssembly", "Atomics", "eval", "Deno", "Bun", "Buffer", "navigator", "localStorage", "indexedDB", "caches", "BroadcastChannel", "MessageChannel", "importScripts"].filter((name) => name in globalThis);
