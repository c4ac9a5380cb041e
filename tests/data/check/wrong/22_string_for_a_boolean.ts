// mistake: line 5, column 3: `includeImage` is a boolean
// says: string, boolean
const parts = await mux.everything.get_annotated_message({
  messageType: "success",
  includeImage: "yes",
});
for (const part of parts) {
  if (part.type === "image") mux.emit(part);
}
return parts.length;
