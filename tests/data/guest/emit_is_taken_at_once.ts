// What is checked is what is sent: nothing inherited counts, and a getter is asked once.
let asked = 0;
const type = () => (asked++ === 0 ? "video" : "text");
const tries = [
  () => mux.emit(Object.create({ type: "text", text: "inherited" })),
  () => mux.emit({ get type() { return type(); }, text: "two-faced" } as any),
  () => {
    (Object.prototype as any).type = "text";
    (Object.prototype as any).text = "from the prototype";
    try {
      mux.emit({} as any);
    } finally {
      delete (Object.prototype as any).type;
      delete (Object.prototype as any).text;
    }
  },
];
for (const attempt of tries) {
  try {
    attempt();
    console.log("was possible");
  } catch (error) {
    console.log(error.kind, error.message);
  }
}
return asked;
