// mistake: line 6, column 10: there is no `Buffer`
// says: Buffer
const { content } = await mux.files.read_media_file({ path: `${mux.input.dir}/notes.md` });
const decoded = content.map((part) => {
  const data = part.type === "resource" ? part.resource.blob : part.data;
  return Buffer.from(data, "base64").toString("utf8");
});
return decoded.join("");
