// must: result 1000
let emitted = 0;
for (; emitted < 1000; emitted++) mux.emit({ type: "text", text: String(emitted) });
return emitted;
