const tried: [text: any, format?: any][] = [
  ["No hotels were found."],
  ['{"a": 1,\n "b" 2}'],
  ["{'a': 1,\n 'b': <Status.ok: 1>}"],
  ["a: 1\nb: c: d"],
  ["a,b\n1,2\n3,4,5"],
  ["a: 1", "json"],
  ["a: 1", "toml"],
  ["a: 1", 7],
];
for (const [text, format] of tried) {
  try {
    mux.$parse(text, format);
    console.log("was possible");
  } catch (error) {
    console.log(error.name, error.kind, error.path, error.message, "|", error.hint, "|", JSON.stringify(error.details));
  }
}
const laughs = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
for (let n = 1; n < 12; n++) laughs.push(`a${n}: &a${n} [${Array(10).fill(`*a${n - 1}`).join(", ")}]`);
try {
  mux.$parse(laughs.join("\n"));
} catch (error) {
  console.log(error.kind, error.message.includes("too large or too complex"));
}
const deep = (levels: number): any => {
  try {
    return deep(levels + 1);
  } catch {
    // Where the engine has no stack left, the parser has.
    return mux.$parse("{'a':".repeat(90) + "1" + "}".repeat(90)) !== null;
  }
};
console.log(deep(0));
