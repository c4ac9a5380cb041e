// A gigabyte of console is cut, and the cut is said.
// must: result "done"
// console: is dropped
// args: --timeout 60s
// must on quickjs: error limit
// must on quickjs: error timeout
// must on quickjs: result "done"
const line = "x".repeat(1 << 16);
for (let i = 0; i < 1 << 14; i++) console.log(line);
return "done";
