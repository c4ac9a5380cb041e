// Which of its frames is the last depends on the machine.
const dig = (n: number): number => dig(n + 1) + 1;
try {
  return dig(0);
} catch (error) {
  return `${error.name}: ${error.message}`;
}
