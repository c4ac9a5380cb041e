const path = `${mux.input.dir}/done.txt`;
await mux.files.write_file({ path, content: "done\n" });
const { content } = await mux.files.read_text_file({ path });
if (content !== "done\n") throw new Error("it was not written");
console.log("written");
