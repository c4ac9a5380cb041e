// ---- fetch
const response = await fetch("https://example.com");
return await response.text();
// ---- fetch_in_a_helper
async function get(url) {
  const res = await fetch(url);
  if (!res.ok) throw new Error(res.statusText);
  return res.json();
}
return await get("https://example.com/data.json");
// ---- fetch_that_is_thrown_again
try {
  const r = await fetch("https://example.com");
  return r.status;
} catch (e) {
  console.error(e);
  throw e;
}
// ---- require
const fs = require("fs");
return fs.readdirSync(".");
// ---- require_destructured
const { readFileSync } = require("node:fs");
return readFileSync("/etc/hostname", "utf8");
// ---- dynamic_import
const { default: _ } = await import("lodash");
return _.chunk([1, 2, 3], 2);
// ---- process_env
const token = process.env.GITHUB_TOKEN;
return token.length;
// ---- process_argv
const [, , name = "world"] = process.argv;
return `hello ${name}`;
// ---- process_optional
return process?.env?.HOME ?? "none";
// ---- buffer
return Buffer.from("muxd").toString("base64");
// ---- file_system_without_a_require
const text = fs.readFileSync("/etc/hostname", "utf8");
return text.trim();
// ---- path_without_a_require
return path.join("a", "b");
// ---- set_immediate
await new Promise((resolve) => setImmediate(resolve));
return "later";
// ---- window
window.localStorage.setItem("a", "b");
return 1;
// ---- document
return document.querySelectorAll("a").length;
// ---- local_storage
localStorage.setItem("last", "1");
return localStorage.getItem("last");
// ---- axios
const { data } = await axios.get("https://example.com");
return data;
// ---- alert
alert("done");
return 1;
// ---- print
print("hello");
// ---- misspelled_variable
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return isues.map((i) => i.number);
// ---- variable_of_an_inner_block
for (const t of [1, 2]) {
  const last = t;
}
return last;
// ---- variable_of_a_callback
[1, 2].forEach((x) => {
  const doubled = x * 2;
});
return doubled;
// ---- misspelled_function
function summarize(list) {
  return list.length;
}
return sumarize([1, 2]);
// ---- assignment_to_an_undeclared_name
result = 5;
return result;
// ---- undeclared_name_in_a_shorthand
const { total } = await mux.tasks.stats({ project: "app" });
return { total, procent };
// ---- input_without_mux
return input.name ?? "x";
// ---- interface_used_as_a_value
interface Issue { number: number }
return new Issue();
// ---- used_before_its_declaration
console.log(limit);
const limit = 5;
return limit;
// ---- declared_twice
const a = 1;
const a = 2;
return a;
// ---- undeclared_in_main
async function main() {
  const rl = readline.createInterface({ input: process.stdin });
  return rl;
}
await main();
