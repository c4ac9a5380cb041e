// mistake: line 7, column 26: `area` takes one argument
// says: Expected 1 arguments, 2
const area = (box: { width: number; height: number }): number => box.width * box.height;
const boxes = [{ width: 2, height: 3 }, { width: 4, height: 5 }];
let sum = 0;
for (const box of boxes) {
  sum += area(box.width, box.height);
}
const text = await mux.everything.get_sum({ a: sum, b: 0 });
return text;
