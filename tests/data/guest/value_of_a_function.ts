async () => {
  const words: string[] = ["a", "b"];
  return words.length;
}
