/** @param {number} n */
function twice(n) {
  return n * 2;
}
var hoisted = twice(hidden() ?? 4);
function hidden() {}
label: for (const a of [1, 2]) for (const b of [1, 2]) if (a * b === 2) break label;
return { hoisted, strict: (function () { return this === undefined; })() };
