const wanted = [
  { server: "everything", tool: "echo", args: { message: "dynamic" } },
  { server: "time", tool: "get_current_time", args: { timezone: "Asia/Tokyo" } },
  { server: "files", tool: "read_text_file", args: { path: `${mux.input.dir}/src/sum.ts`, tail: 1 } },
];
const results = await Promise.all(wanted.map(({ server, tool, args }) => mux[server][tool](args)));
const servers = ["files", "memory"];
const listed = [];
for (const server of servers) {
  const tool = server === "files" ? "list_allowed_directories" : "read_graph";
  listed.push(typeof (await mux[server][tool]({})));
}
return { echo: results[0], zone: results[1].timezone, last: results[2].content, listed };
