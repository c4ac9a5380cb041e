// The arguments of a tool as fields of a form, made of its JSON Schema. Pure.
//
// A schema that this does not understand becomes a field for JSON: the daemon checks the arguments in any case.

import { clip, json, plain } from "./words.js";

// Resolves local references.
function follow(schema, root) {
  let found = schema;
  for (let steps = 0; steps < 20 && typeof found?.$ref === "string" && found.$ref.startsWith("#/"); steps += 1) {
    const { $ref, ...own } = found;
    const target = $ref
      .slice(2)
      .split("/")
      .reduce((value, part) => value?.[part.replaceAll("~1", "/").replaceAll("~0", "~")], root);
    found = target && typeof target === "object" ? { ...target, ...own } : own;
  }
  return found && typeof found === "object" ? found : {};
}

// The alternatives of a schema, without `null`, which means that the argument is left out.
function alternatives(schema, root) {
  const all = schema.anyOf ?? schema.oneOf;
  if (!Array.isArray(all)) return [schema];
  const found = all.map((one) => follow(one, root)).filter((one) => one.type !== "null" && one.const !== null);
  return found.length ? found : [schema];
}

function choicesOf(parts) {
  const values = parts.flatMap((part) => {
    if (part.const !== undefined) return [part.const];
    if (Array.isArray(part.enum)) return part.enum;
    return part.type === "boolean" ? [true, false] : [undefined];
  });
  const isPlain = values.every((value) => value !== undefined && (value === null || typeof value !== "object"));
  if (!isPlain || values.length === 0 || values.length > 500) return undefined;
  // Each is sent as text; a choice that is empty could not be told from a field that is left out.
  return [...new Set(values.filter((value) => value !== null && value !== "").map(String))];
}

function typeNames(parts) {
  const names = parts.flatMap((part) => part.type ?? []).filter((name) => name !== "null");
  return [...new Set(names)];
}

export function fields(input) {
  const root = input ?? {};
  const schema = follow(root, root);
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const list = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const own = follow(property, root);
    const parts = alternatives(own, root);
    const types = typeNames(parts);
    const choices = choicesOf(parts);
    return {
      name,
      required: required.has(name),
      type: clip(plain(types.join(" or ")), 60) || (choices ? "choice" : "JSON"),
      isString: types.length === 1 && types[0] === "string",
      description: own.description ?? parts[0].description,
      choices,
      fallback: own.default === undefined ? undefined : clip(plain(json(own.default)), 100),
    };
  });
  return [...list.filter((one) => one.required), ...list.filter((one) => !one.required)];
}

// The mistakes that the daemon found in this argument.
export function mistakesOf(mistakes, name) {
  const starts = [`${name}:`, `${name}.`, `${name}[`, `"${name}" `];
  return mistakes.filter((mistake) => starts.some((start) => mistake.startsWith(start)));
}
