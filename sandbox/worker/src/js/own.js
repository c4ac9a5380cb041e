// Functions of the daemon itself: each converts the program's arguments to the arguments that are sent.
//
// Invariant: a function here only reads values. The function returns `{ args }`, or `{ wrong }` with a message
// and a hint.

const { isSafeInteger } = Number;
const { isArray } = Array;

const isObject = (value) => typeof value === "object" && value !== null && !isArray(value);
const wrong = (message, hint) => ({ wrong: [message, hint] });

const HANDLE = "a handle is the text that stands as `handle` in place of a result that was too long";
const RANGE = "such as mux.read(handle, { offset: 0, length: 65536 }), both in bytes of the JSON text";

const QUERY = "such as mux.search(\"create issue\", { server: \"github\", limit: 5 })";
const PATHS = "such as mux.describe(\"files.read\", \"github.create_issue\"), or an array of such paths";

/** Copies the options, if any. The daemon validates them. */
const options = (name, given) => {
  if (given === undefined) return { args: {} };
  if (!isObject(given)) return wrong(`the options of mux.${name} are no object`, `see mux.${name} in \`mux types\``);
  return { args: { ...given } };
};

export const own = {
  /** Reads a stored value, or with a range a page of its JSON text. */
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

  /** Finds tools by a few words, the best first. */
  search(query, given) {
    if (typeof query !== "string") return wrong("mux.search needs a text of a few words", QUERY);
    const found = options("search", given);
    return found.wrong ? found : { args: { ...found.args, query } };
  },

  /** Describes a few tools completely. */
  describe(...given) {
    const paths = given.length === 1 && isArray(given[0]) ? given[0] : given;
    const texts = [];
    for (let i = 0; i < paths.length; i++) {
      if (typeof paths[i] !== "string") return wrong("mux.describe needs paths of tools", PATHS);
      texts[i] = paths[i];
    }
    return texts.length === 0 ? wrong("mux.describe needs the path of a tool", PATHS) : { args: { paths: texts } };
  },

  /** The search in a form whose result begins with the best path. */
  discover: (given) => options("discover", given),

  // Members of `mux.catalog`.
  "catalog.namespaces": (given) => options("catalog.namespaces", given),
  "catalog.tools": (given) => options("catalog.tools", given),
};
