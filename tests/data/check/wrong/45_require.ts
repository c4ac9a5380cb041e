// mistake: line 3, column 14: programs load no modules
// says: require
const path = require("path");
const { content } = await mux.files.list_directory({ path: mux.input.dir });
const extensions = content.split("\n").map((line) => path.extname(line));
return [...new Set(extensions)];
