// mistake: line 5, column 27: there is no server `filesystem`
// says: filesystem
// List what lies in a folder.
const { dir } = mux.input;
const listing = await mux.filesystem.list_directory({ path: dir });
const names = listing.content.split("\n");
return { files: names.filter((n) => n.startsWith("[FILE]")).length };
