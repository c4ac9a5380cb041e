try {
  await mux.fix.fail({ message: "it broke" });
} catch (error) {
  return {
    error: error instanceof Error,
    text: String(error),
    constructor: error.constructor.name,
    fields: { ...error },
    place: error.stack.includes("program.ts:2"),
  };
}
