const cycle: any = { type: "text", text: "round" };
cycle.self = cycle;
const wrong: any[] = [
  undefined,
  null,
  3,
  "text",
  () => {},
  new Map(),
  {},
  { type: 1 },
  { type: "video", data: "" },
  { type: "constructor" },
  { type: "text" },
  { type: "image", data: "aGVsbG8=" },
  { type: "audio", data: new Uint8Array(3), mimeType: "audio/wav" },
  { type: "resource_link", uri: "file:///a" },
  { type: "resource" },
  { type: "resource", resource: [] },
  { type: "resource", resource: { text: "no uri" } },
  { type: "resource", resource: { uri: "file:///a" } },
  { content: [{ type: "text", text: "of a result" }] },
  [{ type: "text", text: "is not sent either" }, { type: "text" }],
  [[]],
  cycle,
];
for (const part of wrong) {
  try {
    mux.emit(part);
    console.log("was possible");
  } catch (error) {
    console.log(error.name, error.kind, error.path, error.message, "|", error.hint);
  }
}
