// mistake: line 3, column 26: a server is no function
// says: callable
const client = await mux.files({ root: mux.input.dir });
const listing = await client.list();
return listing.length;
