// `console`: what a script prints, formatted in the isolate and sent to the caller line by line
// while the program runs. Nothing is written to the process's own output.

import { op_mux_console } from "ext:core/ops";

const MAX_DEPTH = 4;
const MAX_ITEMS = 100;
const MAX_STRING = 10_000;
const { stringify } = JSON;
const isIdentifier = (key) => /^[A-Za-z_$][\w$]*$/.test(key);

/** Text of any value as a person would want to read it; never throws, never calls a getter. */
export function inspect(value, depth = 0, seen = []) {
  switch (typeof value) {
    case "string":
      return depth === 0 ? value : stringify(value.length > MAX_STRING ? `${value.slice(0, MAX_STRING)}\u2026` : value);
    case "bigint":
      return `${value}n`;
    case "symbol":
      return value.toString();
    case "function":
      return `[function ${value.name || "(anonymous)"}]`;
    case "object":
      break;
    default:
      return Object.is(value, -0) ? "-0" : String(value);
  }
  if (value === null) return "null";
  if (seen.includes(value)) return "[circular]";
  try {
    return inspectObject(value, depth, [...seen, value]);
  } catch {
    return "[object that cannot be shown]";
  }
}

// Frames of the bridge say nothing to the author of a program.
const withoutBridge = (stack) => stack.split("\n").filter((line) => !/^\s+at .*\bext:/.test(line)).join("\n");

function inspectObject(value, depth, seen) {
  if (value instanceof Error) {
    const head = typeof value.stack === "string" ? withoutBridge(value.stack) : `${value.name}: ${value.message}`;
    return value.cause === undefined ? head : `${head}\n  cause: ${inspect(value.cause, depth + 1, seen)}`;
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (value instanceof Promise) return "Promise { \u2026 } (await it)";
  if (depth >= MAX_DEPTH) return Array.isArray(value) ? "[\u2026]" : "{\u2026}";
  const inner = (v) => inspect(v, depth + 1, seen);
  if (Array.isArray(value) || ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const items = Array.from(value).slice(0, MAX_ITEMS).map(inner);
    if (value.length > MAX_ITEMS) items.push(`\u2026 ${value.length - MAX_ITEMS} more`);
    const prefix = Array.isArray(value) ? "" : `${value.constructor.name} `;
    return prefix + enclose("[", items, "]");
  }
  if (value instanceof Map) {
    return `Map(${value.size}) ` + enclose("{", capped([...value].map(([k, v]) => `${inner(k)} => ${inner(v)}`)), "}");
  }
  if (value instanceof Set) return `Set(${value.size}) ` + enclose("{", capped([...value].map(inner)), "}");
  const entries = Reflect.ownKeys(value)
    .filter((key) => Object.prototype.propertyIsEnumerable.call(value, key))
    .map((key) => {
      const { get, value: member } = Object.getOwnPropertyDescriptor(value, key);
      const label = typeof key === "symbol" ? `[${key.toString()}]` : isIdentifier(key) ? key : stringify(key);
      return `${label}: ${get ? "[getter]" : inner(member)}`;
    });
  const name = Object.getPrototypeOf(value)?.constructor?.name;
  const prefix = typeof name === "string" && name !== "Object" && name !== "" ? `${name} ` : "";
  return prefix + enclose("{", capped(entries), "}");
}

const capped = (items) =>
  items.length > MAX_ITEMS ? [...items.slice(0, MAX_ITEMS), `\u2026 ${items.length - MAX_ITEMS} more`] : items;

function enclose(open, items, close) {
  if (items.length === 0) return open + close;
  const space = open === "{" ? " " : "";
  const line = `${open}${space}${items.join(", ")}${space}${close}`;
  if (line.length <= 76 && !line.includes("\n")) return line;
  return `${open}\n${items.map((item) => `  ${item.replaceAll("\n", "\n  ")}`).join(",\n")}\n${close}`;
}

// `%s` and its relatives, as every console has them.
function format(args) {
  const [first, ...rest] = args;
  if (typeof first !== "string" || !first.includes("%")) return args.map((a) => inspect(a)).join(" ");
  const text = first.replace(/%([sdifjoOc%])/g, (all, code) => {
    if (code === "%") return "%";
    if (rest.length === 0) return all;
    const value = rest.shift();
    switch (code) {
      case "s": return typeof value === "string" ? value : inspect(value, 1);
      case "d": return String(Number(value));
      case "i": return String(Math.trunc(Number(value)));
      case "f": return String(Number.parseFloat(value));
      case "j": return stringify(value) ?? "undefined";
      case "c": return "";
      default: return inspect(value, 1);
    }
  });
  return [text, ...rest.map((a) => inspect(a))].join(" ");
}

function tableRows(data) {
  const rows = Object.entries(data);
  const columns = [...new Set(rows.flatMap(([, row]) => (typeof row === "object" && row !== null ? Object.keys(row) : ["value"])))];
  const cell = (row, column) => (typeof row === "object" && row !== null ? (column in row ? inspect(row[column], 1) : "") : column === "value" ? inspect(row, 1) : "");
  const lines = [["", ...columns], ...rows.map(([index, row]) => [index, ...columns.map((column) => cell(row, column))])];
  const widths = lines[0].map((_, i) => Math.max(...lines.map((line) => line[i].length)));
  return lines.map((line) => line.map((text, i) => text.padEnd(widths[i])).join("  ").trimEnd()).join("\n");
}

export function makeConsole() {
  let indent = "";
  const counts = new Map();
  const timers = new Map();
  const print = (level, text) => op_mux_console(level, indent === "" ? text : indent + text.replaceAll("\n", `\n${indent}`));
  const at = (level) => (...args) => print(level, format(args));
  const elapsed = (label) => `${label}: ${(Date.now() - (timers.get(label) ?? Date.now()))} ms`;
  const console = {
    debug: at(0),
    log: at(1),
    info: at(2),
    warn: at(3),
    error: at(4),
    trace: at(0),
    dir: (value) => print(1, inspect(value, typeof value === "string" ? 1 : 0)),
    table: (data) => print(1, typeof data === "object" && data !== null ? tableRows(data) : inspect(data)),
    assert: (ok, ...args) => ok || print(4, `assertion failed${args.length ? `: ${format(args)}` : ""}`),
    group: (...args) => {
      if (args.length) print(1, format(args));
      indent += "  ";
    },
    groupEnd: () => void (indent = indent.slice(2)),
    count: (label = "default") => {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      print(1, `${label}: ${counts.get(label)}`);
    },
    time: (label = "default") => void timers.set(label, Date.now()),
    timeLog: (label = "default", ...args) => print(1, [elapsed(label), ...args.map((a) => inspect(a))].join(" ")),
    timeEnd: (label = "default") => {
      print(1, elapsed(label));
      timers.delete(label);
    },
  };
  return { console, inspect };
}
