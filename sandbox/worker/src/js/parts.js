// Validates MCP content blocks, which a program emits for its caller in addition to the result.
//
// Invariant: the validated value is plain data, parsed from the same JSON that leaves the isolate, and only
// own properties count.

const { hasOwn, keys } = Object;
const { isArray } = Array;

// The string properties that a block of each type must have.
const BLOCKS = {
  text: ["text"],
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
  resource_link: ["uri", "name"],
  resource: [],
};
const TYPES = keys(BLOCKS).join(", ");
const EXAMPLES = {};
for (const type of keys(BLOCKS)) EXAMPLES[type] = `such as { type: "${type}", ${BLOCKS[type].join(", ")} }`;
const HINT = "such as { type: \"image\", data: base64, mimeType: \"image/png\" }, or what a tool gave";

const isObject = (value) => typeof value === "object" && value !== null && !isArray(value);
const own = (object, key) => (hasOwn(object, key) ? object[key] : undefined);
const isText = (object, key) => typeof own(object, key) === "string";

/** What is wrong with `block`, as a message and a hint, or undefined. `what` names it. */
export function wrongPart(block, what) {
  if (typeof block === "string") return [`${what} is a text, not a content block`, EXAMPLES.text];
  if (!isObject(block)) return [`${what} is not a content block`, HINT];
  const type = own(block, "type");
  if (type === undefined && isArray(own(block, "content"))) {
    return [`${what} is a result, not a content block`, "emit what stands in it: mux.emit(result.content)"];
  }
  if (typeof type !== "string" || !hasOwn(BLOCKS, type)) return [`${what}.type is none of ${TYPES}`, HINT];
  const required = BLOCKS[type];
  for (let i = 0; i < required.length; i++) {
    if (!isText(block, required[i])) return [`${what}.${required[i]} is missing or no text`, EXAMPLES[type]];
  }
  return type === "resource" ? wrongResource(own(block, "resource"), `${what}.resource`) : undefined;
}

const RESOURCE = "such as { type: \"resource\", resource: { uri, mimeType, text } }, or blob (base64) for text";

function wrongResource(resource, what) {
  if (!isObject(resource)) return [`${what} is missing or no object`, RESOURCE];
  if (!isText(resource, "uri")) return [`${what}.uri is missing or no text`, RESOURCE];
  if (!isText(resource, "text") && !isText(resource, "blob")) return [`${what} has neither text nor blob`, RESOURCE];
  return undefined;
}
