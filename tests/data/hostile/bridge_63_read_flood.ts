// Reading is calling: the same number is allowed.
// must: result [1000,9000]
// must on quickjs: error memory
const handle = "h_" + "0".repeat(32);
const ends = await Promise.allSettled(Array.from({ length: 10_000 }, () => mux.read(handle)));
const of = (kind: string) => ends.filter((end) => end.status === "rejected" && end.reason.kind === kind).length;
return [of("not_found"), of("limit")];
