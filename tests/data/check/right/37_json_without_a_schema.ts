// The tool declares no output schema; its text is a JSON object.
const env = await mux.everything.get_env();
const names = Object.keys(env).sort();
const path = env.PATH.split(":");
const links = await mux.everything.get_resource_links({ count: 3 });
const uris = links.filter((l) => l.type === "resource_link").map((l) => l.uri);
const reference = await mux.everything.get_resource_reference({ resourceType: "Text", resourceId: 2 });
const { resource } = reference.find((part) => part.type === "resource");
return { hasPath: names.includes("PATH"), folders: path.length > 0, uris, text: resource.text.startsWith("Resource 2") };
