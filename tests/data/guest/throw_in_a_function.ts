function outer(n: number) {
  return inner(n + 1);
}
function inner(n: number): never {
  throw new Error(`n is ${n}`);
}
return outer(1);
