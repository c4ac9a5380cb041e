// mistake: line 5, column 25: `mux.read` needs a handle
// says: arguments
// The text was too long, so read it in pages.
const pages: string[] = [];
const first = await mux.read();
pages.push(first.text);
console.log(`${pages.length} page, ${pages[0]}`);
return pages;
