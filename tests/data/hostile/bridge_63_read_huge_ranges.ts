// The last numbers that are exact ask for nothing that exists.
// must: result ["not_found"]
const handle = "h_" + "0".repeat(32);
const most = Number.MAX_SAFE_INTEGER;
const asked = [{ offset: most }, { offset: 0, length: most }, { offset: most, length: most }];
const kinds = await Promise.all(asked.map((range) => mux.read(handle, range).then(() => "read", (e) => e.kind)));
return [...new Set(kinds)];
