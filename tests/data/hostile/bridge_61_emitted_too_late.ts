// Nothing is emitted after the end.
// must: result "over"
setTimeout(() => {
  for (;;) mux.emit({ type: "text", text: "late" });
}, 10);
return "over";
