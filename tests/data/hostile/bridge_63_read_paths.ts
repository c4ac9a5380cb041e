// A handle is no path: none of these is looked for on the disk.
// must: result ["validation"]
const handles = [
  "../../etc/passwd",
  "../../../../../../../../etc/passwd",
  "/etc/passwd",
  "h_/../../config.toml",
  "h_" + "../".repeat(10) + "env",
  "h_" + "0".repeat(31) + "\0",
  "h_" + "0".repeat(31) + "/",
  ".",
  "h_" + "0".repeat(1_000_000),
  "h_" + "\u0660".repeat(32),
];
const kinds = await Promise.all(handles.map((handle) => mux.read(handle).then(() => "read", (e) => e.kind)));
return [...new Set(kinds)];
