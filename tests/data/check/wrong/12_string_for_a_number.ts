// mistake: line 5, column 3: `head` is a number
// says: string, number
const { content } = await mux.files.read_text_file({
  path: `${mux.input.dir}/sales.csv`,
  head: "1",
});
const columns = content.trim().split(",");
return { columns };
