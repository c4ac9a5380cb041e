// must: result "left"
const emit = mux.emit;
try {
  (mux as any).emit = () => "mine";
} catch {}
try {
  Object.defineProperty(emit, "call", { value: 1 });
} catch {}
return "left";
