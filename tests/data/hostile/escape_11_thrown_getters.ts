// An error that computes for ever when it is looked at.
// args: --timeout 2s
// must: error runtime
// must: error timeout
const error = new Error("slow");
Object.defineProperty(error, "message", { get() { for (;;); } });
throw error;
