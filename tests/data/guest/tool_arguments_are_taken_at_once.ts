const args = { text: "as it was" };
const call = mux.fix.echo(args);
args.text = "changed";
return await call;
