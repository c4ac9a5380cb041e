// `console`: formats what a script prints in the isolate and sends it to the caller line by line while the program
// runs. The process's own output is not used.

import { op_mux_console } from "ext:core/ops";
import { globals } from "ext:mux/web.js";

const MAX_DEPTH = 4;
const MAX_ITEMS = 100;
const MAX_STRING = 10_000;
const WIDTH = 76;
const SHORT = 16;
const { stringify } = JSON;
const isIdentifier = (key) => /^[A-Za-z_$][\w$]*$/.test(key);

/** Formats any value for a reader; never throws, never calls a getter. */
export function inspect(value, depth = 0, seen = []) {
  switch (typeof value) {
    case "string":
      return depth === 0 ? value : stringify(value.length > MAX_STRING ? `${value.slice(0, MAX_STRING)}\u2026` : value);
    case "bigint":
      return `${value}n`;
    case "symbol":
      return value.toString();
    case "function":
      return `[function ${functionName(value)}]`;
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

function functionName(value) {
  try {
    const own = Object.getOwnPropertyDescriptor(value, "name");
    // A tool group is a proxy, which resolves names itself.
    const name = own?.get === undefined ? own?.value || value.name : "";
    return typeof name === "string" && name !== "" ? name : "(anonymous)";
  } catch {
    return "(anonymous)";
  }
}

const { URL, URLSearchParams } = globals;

// The column at which the program begins in the first line of its script, and the columns that an inserted `return`
// has moved.
let firstColumn = 0;
let shift = { line: 0, column: 0, by: 0 };
const correctColumns = (first, moved) => {
  firstColumn = first;
  shift = moved;
};
const usersColumn = (line, column) => {
  if (line === shift.line && column > shift.column) column = Math.max(shift.column + 1, column - shift.by);
  return line === 1 ? Math.max(1, column - firstColumn) : column;
};

// Drops frames of the prelude, which mean nothing to the author of a program, and corrects columns.
const usersFrames = (stack) =>
  stack
    .split("\n")
    .filter((line) => !/^\s+at .*\bext:/.test(line))
    .map((line) => line.replace(/\bprogram\.ts:(\d+):(\d+)/, (_, at, column) => `program.ts:${at}:${usersColumn(Number(at), Number(column))}`))
    .join("\n");

function inspectObject(value, depth, seen) {
  if (value instanceof Error) {
    let text = typeof value.stack === "string" ? usersFrames(value.stack) : `${value.name}: ${value.message}`;
    if (value.cause !== undefined) text += `\n  cause: ${inspect(value.cause, depth + 1, seen)}`;
    for (const each of Array.isArray(value.errors) ? value.errors : []) text += `\n  one of: ${inspect(each, depth + 1, seen)}`;
    return text;
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (value instanceof URL) return `URL ${value}`;
  if (value instanceof URLSearchParams) return `URLSearchParams ${value}`;
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
  if (line.length <= WIDTH && !line.includes("\n")) return line;
  if (open === "[" && items.every((item) => item.length <= SHORT && !item.includes("\n"))) items = filled(items);
  return `${open}\n${items.map((item) => `  ${item.replaceAll("\n", "\n  ")}`).join(",\n")}\n${close}`;
}

// Puts several short items on a line, to keep a list of a hundred numbers short.
function filled(items) {
  const lines = [];
  for (const item of items) {
    const last = lines.length - 1;
    if (last >= 0 && lines[last].length + item.length + 2 < WIDTH) lines[last] += `, ${item}`;
    else lines.push(item);
  }
  return lines;
}

// Formats `%s` and the other placeholders of the console standard.
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
  let hasPrinted = false;
  const counts = new Map();
  const timers = new Map();
  const print = (level, text) => {
    hasPrinted = true;
    op_mux_console(level, indent === "" ? text : indent + text.replaceAll("\n", `\n${indent}`));
  };
  const at = (level) => (...args) => print(level, format(args));
  const elapsed = (label) => (timers.has(label) ? `${label}: ${Date.now() - timers.get(label)} ms` : `${label}: no such timer`);
  const console = {
    debug: at(0),
    log: at(1),
    info: at(2),
    warn: at(3),
    error: at(4),
    trace: at(0),
    dir: (value) => print(1, inspect(value, typeof value === "string" ? 1 : 0)),
    dirxml: at(1),
    table: (data) => print(1, typeof data === "object" && data !== null ? tableRows(data) : inspect(data)),
    assert: (ok, ...args) => ok || print(4, `assertion failed${args.length ? `: ${format(args)}` : ""}`),
    group: (...args) => {
      if (args.length) print(1, format(args));
      indent += "  ";
    },
    groupCollapsed: (...args) => console.group(...args),
    groupEnd: () => void (indent = indent.slice(2)),
    count: (label = "default") => {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      print(1, `${label}: ${counts.get(label)}`);
    },
    countReset: (label = "default") => void counts.delete(label),
    time: (label = "default") => void timers.set(label, Date.now()),
    timeLog: (label = "default", ...args) => print(1, [elapsed(label), ...args.map((a) => inspect(a))].join(" ")),
    timeEnd: (label = "default") => {
      print(1, elapsed(label));
      timers.delete(label);
    },
    // Does nothing: the output has already been sent.
    clear: () => {},
  };
  return { console, inspect, correctColumns, hasPrinted: () => hasPrinted };
}
