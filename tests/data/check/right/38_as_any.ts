const result = (await mux.files.read_text_file({ path: `${mux.input.dir}/config.json` })) as any;
const text = typeof result === "string" ? result : (result.content ?? result.text);
const config = JSON.parse(text) as any;
const bad = await mux.everything.get_structured_content({ location: "Atlantis" as any }).catch((e: any) => e.kind);
const tools = mux as any;
const echoed = await tools.everything.echo({ message: config.name });
(globalThis as any).shared = 1;
return { echoed, bad, shared: (globalThis as any).shared, name: (config as any).name };
