// Resources and prompts of servers, as `mux.resources.<server>` and `mux.prompts.<server>`: each function converts the
// program's arguments to the arguments that are sent.
//
// Invariant: as in own.js, a function here only reads values. The function returns `{ args }`, or `{ wrong }` with a
// message and a hint.

const { isArray } = Array;

const isObject = (value) => typeof value === "object" && value !== null && !isArray(value);
const wrong = (message, hint) => ({ wrong: [message, hint] });

const URI = "such as mux.resources.docs.read(\"docs://intro\"); list() and templates() tell which there are";
const PROMPT = "such as mux.prompts.docs.get(\"summary\", { topic: \"types\" }); list() tells which there are";

const list = (server) => ({ args: { server } });

export const offers = {
  resources: {
    list,
    templates: list,
    /** Reads the contents, in the form that `globals.d.ts` describes. */
    read(server, uri) {
      if (typeof uri !== "string" || uri === "") return wrong("a resource is read by its uri", URI);
      return { args: { server, uri } };
    },
  },
  prompts: {
    list,
    get(server, name, args = {}) {
      if (typeof name !== "string" || name === "") return wrong("a prompt is got by its name", PROMPT);
      if (!isObject(args)) return wrong("the arguments of a prompt are no object", PROMPT);
      return { args: { server, name, args } };
    },
  },
};
