const image = { type: "image", data: "aGVsbG8=", mimeType: "image/png", annotations: { audience: ["user"] }, _meta: { "x/y": 1 } };
mux.emit({ type: "text", text: "héllo \u{1f600}" });
mux.emit([
  image,
  { type: "audio", data: "aGVsbG8=", mimeType: "audio/wav" },
  { type: "resource", resource: { uri: "file:///a.txt", text: "a" } },
  { type: "resource", resource: { uri: "file:///a.bin", blob: "aGVsbG8=", mimeType: "application/octet-stream" } },
  { type: "resource_link", uri: "file:///b.txt", name: "b" },
]);
mux.emit([]);
return { gives: typeof mux.emit({ type: "text", text: "" }), name: mux.emit.name, frozen: Object.isFrozen(mux.emit), same: mux.emit === mux.emit };
