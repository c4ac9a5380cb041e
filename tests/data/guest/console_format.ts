console.log("%s is %d, %i and %f", "pi", 3.14, 3.14, "3.14 exactly");
console.log("%j %o %O %c%%", { a: 1 }, { b: [2] }, { c: 3 }, "color: red");
console.log("%s", { an: "object" }, "extra", { more: 1 });
console.log("100% of %s");
console.log("%d", "not a number");
console.log(1, "%s is no format here", 2);
