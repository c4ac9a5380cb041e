// Timers and promises end with their run.
// must: result "left"
setTimeout(() => console.log("timer of another run"), 0);
setInterval(() => mux.fix.counter({ key: "late" }), 0);
(async () => {
  for (;;) await mux.fix.counter({ key: "late" });
})();
return "left";
