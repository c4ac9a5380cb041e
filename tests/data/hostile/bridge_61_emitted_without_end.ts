// Parts with nothing in them count too.
// must: error limit
// says: over the limit of 16777216
for (;;) mux.emit({ type: "text", text: "" });
