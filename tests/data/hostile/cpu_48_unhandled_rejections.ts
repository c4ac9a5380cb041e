// One word about all of them, and the worker lives. The other engine needs longer than a run may take.
// engine: v8
// must: result "done"
// console: promises were rejected and never awaited
for (let i = 0; i < 1e5; i++) Promise.reject(new Error(String(i)));
return "done";
