mux.fix.fail({ message: "nobody looked" });
// The first of these may overtake it, the second comes after.
await mux.fix.echo({ text: "x" });
await mux.fix.echo({ text: "y" });
return "done";
