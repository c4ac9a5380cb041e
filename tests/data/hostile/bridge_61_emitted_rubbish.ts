// What is no content block is refused in the isolate and never sent.
// must: result ["validation","validation","validation","validation","validation","validation","validation"]
const cycle: any = { type: "text", text: "" };
cycle.self = cycle;
const rubbish: any[] = [
  undefined,
  "text",
  { type: "__proto__", text: "" },
  Object.create({ type: "text", text: "inherited" }),
  { type: "text", text: { toString: () => "text" } },
  cycle,
  [[{ type: "text", text: "" }]],
];
return rubbish.map((part) => {
  try {
    mux.emit(part);
    return "emitted";
  } catch (error) {
    return error.kind;
  }
});
