// How amounts, times and strangers' texts are written. Pure.

const UNSEEN = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180e" +
    "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb" +
    "\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]",
  "gu",
);

// Escapes characters of foreign text that are invisible or reverse the order of letters.
export function plain(text) {
  return String(text).replace(UNSEEN, (unseen) => `\\u{${unseen.codePointAt(0).toString(16)}}`);
}

// No more than so many characters, and never a half of one.
export function clip(text, most) {
  if (text.length <= most) return text;
  const whole = /[\ud800-\udbff]$/.test(text.slice(0, most - 1)) ? most - 2 : most - 1;
  return `${text.slice(0, whole)}\u2026`;
}

export function ms(value) {
  if (value === undefined || value === null || Number.isNaN(value)) return "";
  if (value < 1) return `${value.toFixed(2)} ms`;
  if (value < 10) return `${trim(value.toFixed(1))} ms`;
  if (value < 999.5) return `${Math.round(value)} ms`;
  if (value < 59950) return `${trim((value / 1000).toFixed(value < 9950 ? 2 : 1))} s`;
  return span(value);
}

// Longer times, in two units.
export function span(value) {
  const seconds = Math.max(0, Math.round(value / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

function trim(number) {
  return number.replace(/\.?0+$/, "");
}

export function bytes(value) {
  if (value === undefined || value === null) return "";
  if (value < 1024) return `${value} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let amount = value / 1024;
  let unit = 0;
  while (amount >= 1023.5 && unit < units.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${amount < 9.95 ? trim(amount.toFixed(1)) : Math.round(amount)} ${units[unit]}`;
}

export function ago(since, now) {
  const past = now - since;
  if (past < 1500) return "just now";
  if (past < 60000) return `${Math.floor(past / 1000)} s ago`;
  if (past < 3600000) return `${Math.floor(past / 60000)} min ago`;
  if (past < 86400000) return `${Math.floor(past / 3600000)} h ago`;
  return new Date(since).toLocaleDateString();
}

export function clock(since) {
  return new Date(since).toLocaleTimeString();
}

export function count(number, thing, things = `${thing}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? thing : things}`;
}

// The server of a path, and the tool.
export function parted(path) {
  const dot = path.indexOf(".");
  return dot < 0 ? [path, ""] : [path.slice(0, dot), path.slice(dot + 1)];
}

// Methods of MCP other than tool calls, by which policy names them: `server.resources/read`.
const METHOD = /^(completion|elicitation|prompts|resources|roots|sampling)\//;

// The path of a tool as programs write it after `mux.`: events and approvals have the server's own name.
export function programPath(path) {
  const [server, tool] = parted(path);
  return tool === "" || METHOD.test(tool) ? path : `${spell(server)}.${spell(tool)}`;
}

function spell(name) {
  const segments = name.split(".");
  return segments.length <= 16 && !segments.includes("") ? segments.map(spellSegment).join(".") : spellSegment(name);
}

function spellSegment(segment) {
  const spelled = segment.replace(/[^\w$]+/g, "_").replace(/^\d/, "_$&");
  return spelled === "" || spelled === "then" || spelled === "toJSON" ? `${spelled}_` : spelled;
}

// JSON that is easy to read.
export function json(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
