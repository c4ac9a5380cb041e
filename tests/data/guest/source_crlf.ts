const a = 1;
  throw new Error(`line ${a + 1}`);
