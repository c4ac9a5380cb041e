const { content } = await mux.files.read_text_file({ path: mux.input.path });
return content.split("\n").filter((line) => line.includes("ERROR mail"));
