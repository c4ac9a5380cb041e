const describe = async (name, action) => {
  try {
    return { name, value: await action() };
  } catch (error) {
    const { kind, message, recoverable, hint, path } = error;
    switch (kind) {
      case "tool": return { name, reason: "the tool said no", path };
      case "not_found": return { name, reason: "no such tool", recoverable };
      case "validation": return { name, reason: "wrong arguments", helped: Boolean(hint || message) };
      default: throw error;
    }
  }
};
const results = [
  await describe("tool", () => mux.files.get_file_info({ path: "/root" })),
  await describe("absent", () => mux.call("files.erase_everything")),
  await describe("wrong", () => mux.call("everything.get-sum", { a: "one" })),
  await describe("right", () => mux.call("everything.get-sum", { a: 1, b: 1 })),
];
return results.map((r) => r.reason ?? r.value);
