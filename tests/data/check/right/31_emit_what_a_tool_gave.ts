const parts = await mux.everything.get_tiny_image();
const image = parts.find((part) => part.type === "image");
mux.emit(image);
mux.emit({ type: "text", text: "the logo of MCP" });
mux.emit([{ type: "image", data: btoa("not really a picture"), mimeType: "image/png" }]);
const media = await mux.files.read_media_file({ path: `${mux.input.dir}/notes.md` });
media.content.forEach((part) => mux.emit(part));
return parts.length;
