try {
  JSON.parse("{oops");
} catch (cause) {
  throw new Error("the settings cannot be read", { cause });
}
