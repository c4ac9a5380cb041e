// mistake: line 5, column 66: `sortBy` is "name" or "size"
// says: date
const path = mux.input.dir;
const byName = await mux.files.list_directory_with_sizes({ path, sortBy: "name" });
const newest = await mux.files.list_directory_with_sizes({ path, sortBy: "date" });
return { byName: byName.content, newest: newest.content.split("\n")[0] };
