const hidden = [async () => {}, function* () {}, async function* () {}].map((each) => each.constructor as any);
return hidden.map((make) => {
  try {
    make("return 1");
    return "compiled";
  } catch (error) {
    return `${make.name}: ${(error as Error).name}`;
  }
});
