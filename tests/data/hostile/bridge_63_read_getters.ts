// One look at each: what was checked is what is asked for.
// must: result ["not_found",1,1,1]
let handles = 0;
let offsets = 0;
let lengths = 0;
const of: any = {
  get handle() {
    return handles++ === 0 ? "h_" + "0".repeat(32) : "../../etc/passwd";
  },
};
const range: any = {
  get offset() {
    return offsets++ === 0 ? 0 : -1;
  },
  get length() {
    return lengths++ === 0 ? 1 : NaN;
  },
};
const kind = await mux.read(of, range).then(() => "read", (e) => e.kind);
return [kind, handles, offsets, lengths];
