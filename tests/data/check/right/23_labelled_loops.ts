const { content } = await mux.files.list_directory({ path: mux.input.dir });
const names = content.split("\n").map((line) => line.replace(/^\[(FILE|DIR)\] /, ""));
let found: string | undefined;
let looked = 0;
search: for (const name of names) {
  if (!name.includes(".")) continue search;
  const { content: text } = await mux.files.read_text_file({ path: `${mux.input.dir}/${name}` });
  for (const line of text.split("\n")) {
    looked += 1;
    if (/TODO/.test(line)) {
      found = name;
      break search;
    }
  }
}
let i = 0;
do { i++; } while (i < 10);
switch (found) {
  case "notes.md":
    console.log("as expected after", looked > 0);
    break;
  default:
    throw new Error(`found ${found}`);
}
return { found, i };
