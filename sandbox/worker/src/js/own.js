// Functions of the daemon itself: each makes, of what the program gave, the arguments that are sent.
//
// Invariant: a function here only looks at values. It answers `{ args }`, or `{ wrong }` with a message
// and a hint.

const { isSafeInteger } = Number;
const { isArray } = Array;

const isObject = (value) => typeof value === "object" && value !== null && !isArray(value);
const wrong = (message, hint) => ({ wrong: [message, hint] });

const HANDLE = "a handle is the text that stands as `handle` in place of a result that was too long";
const RANGE = "such as mux.read(handle, { offset: 0, length: 65536 }), both in bytes of the JSON text";

export const own = {
  /** The whole of a value that is kept, or with a range a page of its JSON text. */
  read(of, range) {
    const handle = isObject(of) ? of.handle : of;
    if (typeof handle !== "string" || handle === "") return wrong("mux.read needs a handle", HANDLE);
    if (range === undefined) return { args: { handle } };
    if (!isObject(range)) return wrong("the range of mux.read is no object", RANGE);
    const { offset = 0, length } = range;
    if (!isSafeInteger(offset) || offset < 0) return wrong("offset of mux.read is no whole number from 0 on", RANGE);
    if (length === undefined) return { args: { handle, offset } };
    if (!isSafeInteger(length) || length < 1) return wrong("length of mux.read is no whole number from 1 on", RANGE);
    return { args: { handle, offset, length } };
  },
};
