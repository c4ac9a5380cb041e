// Eight at once on one server; the others wait in line, and all come back in order.
const numbers = Array.from({ length: 100 }, (_, n) => n);
const answers = await Promise.all(numbers.map((n) => mux.fix.add({ a: n, b: 0 })));
return answers.every(({ sum }, n) => sum === n);
