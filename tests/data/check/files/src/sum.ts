export function add(a: number, b: number) {
  return a + b;
}

export const twice = (n: number) => add(n, n);
