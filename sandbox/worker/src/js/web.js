// The few web globals that a script expects and that have no access to the outside: timers, text encodings, URLs,
// base64, random values, structuredClone, a clock.

import { core } from "ext:core/mod.js";
import {
  op_mux_atob,
  op_mux_btoa,
  op_mux_now,
  op_mux_random,
  op_mux_url_parse,
  op_mux_url_set,
  op_mux_utf8_decode,
} from "ext:core/ops";
import { mark, refuseInstances } from "ext:mux/json.js";

const { createTimer, cancelTimer } = core;
const encodeText = core.encode;
const clone = core.structuredClone;
const { stringify } = JSON;

// ---- timers ----

let timersLeft = Infinity;
let timersMost = Infinity;
const timers = new Map();
// Bound, because a program that replaces methods of `Map.prototype` must not see objects of the runtime.
const remember = timers.set.bind(timers);
const find = timers.get.bind(timers);
const forget = timers.delete.bind(timers);

export function limitTimers(most) {
  timersMost = timersLeft = most;
}

function setTimer(callback, delay, args, repeats, name) {
  if (typeof callback !== "function") {
    throw new TypeError(`${name} needs a function; code in a string is not run here`);
  }
  if (timersLeft-- <= 0) {
    const message = `the program set more than ${timersMost} timers`;
    const error = new RangeError(message);
    mark(error, stringify({ kind: "limit", message, hint: "await one timer in a loop instead of setting many; [limits] timers in config.toml allows more", recoverable: true }));
    throw error;
  }
  // The program gets only the id: the timer object belongs to the runtime.
  let id;
  const fire = () => {
    if (!repeats) forget(id);
    callback(...args);
  };
  const timer = createTimer(fire, Number(delay) || 0, undefined, repeats, true, false);
  id = timer._timerId;
  remember(id, timer);
  return id;
}
const clearTimer = (id) => {
  const timer = find(id);
  if (timer !== undefined) {
    forget(id);
    cancelTimer(timer);
  }
};

// ---- text ----

class TextEncoder {
  get encoding() {
    return "utf-8";
  }
  encode(text = "") {
    return encodeText(`${text}`);
  }
  encodeInto(text, bytes) {
    if (!(bytes instanceof Uint8Array)) throw new TypeError("encodeInto needs a Uint8Array");
    let read = 0;
    let written = 0;
    for (const character of `${text}`) {
      const encoded = encodeText(character);
      if (written + encoded.length > bytes.length) break;
      bytes.set(encoded, written);
      read += character.length;
      written += encoded.length;
    }
    return { read, written };
  }
}

class TextDecoder {
  #fatal;
  #ignoreBom;
  // With `stream`: the bytes of a character that has not arrived whole, and whether the start of the text has.
  #partial = new Uint8Array();
  #begun = false;
  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    if (!/^(utf-?8|unicode-1-1-utf-8)$/i.test(`${label}`.trim())) {
      throw new RangeError(`TextDecoder knows utf-8 only, not ${label}`);
    }
    this.#fatal = Boolean(fatal);
    this.#ignoreBom = Boolean(ignoreBOM);
  }
  get encoding() {
    return "utf-8";
  }
  get fatal() {
    return this.#fatal;
  }
  decode(data = new Uint8Array(), { stream = false } = {}) {
    let bytes = ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data);
    if (this.#partial.length > 0) {
      const chunk = bytes;
      bytes = new Uint8Array(this.#partial.length + chunk.length);
      bytes.set(this.#partial);
      bytes.set(chunk, this.#partial.length);
    }
    const end = stream ? bytes.length - partialCharacter(bytes) : bytes.length;
    const keepBom = this.#ignoreBom || this.#begun;
    this.#partial = bytes.slice(end);
    this.#begun = stream && (this.#begun || end > 0);
    return op_mux_utf8_decode(bytes.subarray(0, end), this.#fatal, keepBom);
  }
}

// The number of bytes at the end that begin a UTF-8 character without completing it.
const partialCharacter = (bytes) => {
  for (let count = 1; count <= 3 && count <= bytes.length; count++) {
    const byte = bytes[bytes.length - count];
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return count < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? count : 0;
  }
  return 0;
};

// ---- URLs: parsed by the host's URL library, held as text here ----

class URLSearchParams {
  #pairs = [];
  #changed = () => {};
  constructor(init = "") {
    if (typeof init === "object" && init !== null) {
      const pairs = typeof init[Symbol.iterator] === "function" ? [...init] : Object.entries(init);
      this.#pairs = pairs.map(([name, value]) => [`${name}`, `${value}`]);
    } else {
      this.#pairs = parseQuery(`${init}`);
    }
  }
  static bound(query, changed) {
    const params = new URLSearchParams(query);
    params.#changed = changed;
    return params;
  }
  static refresh(params, query) {
    params.#pairs = parseQuery(query);
  }
  get size() {
    return this.#pairs.length;
  }
  append(name, value) {
    this.#pairs.push([`${name}`, `${value}`]);
    this.#changed();
  }
  delete(name, value) {
    this.#pairs = this.#pairs.filter(([n, v]) => n !== `${name}` || (value !== undefined && v !== `${value}`));
    this.#changed();
  }
  get(name) {
    return this.#pairs.find(([n]) => n === `${name}`)?.[1] ?? null;
  }
  getAll(name) {
    return this.#pairs.filter(([n]) => n === `${name}`).map(([, v]) => v);
  }
  has(name, value) {
    return this.#pairs.some(([n, v]) => n === `${name}` && (value === undefined || v === `${value}`));
  }
  set(name, value) {
    const first = this.#pairs.findIndex(([n]) => n === `${name}`);
    if (first < 0) this.#pairs.push([`${name}`, `${value}`]);
    else {
      this.#pairs[first][1] = `${value}`;
      this.#pairs = this.#pairs.filter(([n], i) => i <= first || n !== `${name}`);
    }
    this.#changed();
  }
  sort() {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#changed();
  }
  forEach(callback, self) {
    for (const [name, value] of this.#pairs) callback.call(self, value, name, this);
  }
  *entries() {
    for (const [name, value] of this.#pairs) yield [name, value];
  }
  *keys() {
    for (const [name] of this.#pairs) yield name;
  }
  *values() {
    for (const [, value] of this.#pairs) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  toString() {
    return this.#pairs.map(([name, value]) => `${formEncode(name)}=${formEncode(value)}`).join("&");
  }
}

const { bound, refresh } = URLSearchParams;
delete URLSearchParams.bound;
delete URLSearchParams.refresh;
refuseInstances(URLSearchParams, "a URLSearchParams", "use String(params) or Object.fromEntries(params)");

const percentDecode = (text) =>
  text.replaceAll("+", " ").replace(/(%[0-9a-f]{2})+/gi, (run) =>
    op_mux_utf8_decode(Uint8Array.from(run.slice(1).split("%"), (hex) => Number.parseInt(hex, 16)), false, true));
const formEncode = (text) =>
  encodeURIComponent(text.toWellFormed()).replace(/%20/g, "+").replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
const parseQuery = (query) =>
  query
    .replace(/^\?/, "")
    .split("&")
    .filter((part) => part !== "")
    .map((part) => {
      const equals = part.indexOf("=");
      return equals < 0 ? [percentDecode(part), ""] : [percentDecode(part.slice(0, equals)), percentDecode(part.slice(equals + 1))];
    });

const PARTS = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];

class URL {
  #parts;
  #params;
  constructor(url, base) {
    const parts = op_mux_url_parse(`${url}`, base === undefined ? null : `${base}`);
    if (parts === null) throw new TypeError(`Invalid URL: ${url}`);
    this.#parts = JSON.parse(parts);
  }
  static canParse(url, base) {
    return op_mux_url_parse(`${url}`, base === undefined ? null : `${base}`) !== null;
  }
  static parse(url, base) {
    return URL.canParse(url, base) ? new URL(url, base) : null;
  }
  static part(url, name) {
    return url.#parts[name];
  }
  static assign(url, name, value) {
    const parts = op_mux_url_set(url.#parts.href, name, `${value}`);
    if (parts === null) {
      if (name === "href") throw new TypeError(`Invalid URL: ${value}`);
      return;
    }
    url.#parts = JSON.parse(parts);
    if (url.#params !== undefined && name !== "searchParams") refresh(url.#params, url.#parts.search);
  }
  get searchParams() {
    return (this.#params ??= bound(this.#parts.search, () => {
      this.#parts = JSON.parse(op_mux_url_set(this.#parts.href, "search", this.#params.toString()));
    }));
  }
  toString() {
    return this.#parts.href;
  }
  toJSON() {
    return this.#parts.href;
  }
}
const { part, assign } = URL;
delete URL.part;
delete URL.assign;
for (const name of PARTS) {
  Object.defineProperty(URL.prototype, name, {
    enumerable: true,
    configurable: true,
    get() {
      return part(this, name);
    },
    set: name === "origin" ? undefined : function (value) {
      assign(this, name, value);
    },
  });
}
// ---- the rest ----

const INTEGER_ARRAYS = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array];
const hex = (byte) => byte.toString(16).padStart(2, "0");

const crypto = Object.freeze({
  getRandomValues(array) {
    if (!INTEGER_ARRAYS.some((kind) => array instanceof kind)) throw new TypeError("getRandomValues needs an integer typed array");
    if (array.byteLength > 65536) throw new RangeError("getRandomValues fills at most 65,536 bytes at once");
    op_mux_random(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return array;
  },
  randomUUID() {
    const bytes = new Uint8Array(16);
    op_mux_random(bytes);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const text = Array.from(bytes, hex).join("");
    return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
  },
});

const base64 = (op, name) => (text) => {
  const out = op(`${text}`);
  if (out === null) throw new RangeError(`${name}: the text ${name === "btoa" ? "has a character beyond U+00FF" : "is not valid base64"}`);
  return out;
};

// `timeOrigin` is set when the program begins: this script may have run long before, for a snapshot.
const performance = { now: () => op_mux_now() };
export const startClock = () => {
  performance.timeOrigin = Date.now();
  Object.freeze(performance);
};

export const globals = {
  setTimeout: (callback, delay, ...args) => setTimer(callback, delay, args, false, "setTimeout"),
  setInterval: (callback, delay, ...args) => setTimer(callback, delay, args, true, "setInterval"),
  clearTimeout: clearTimer,
  clearInterval: clearTimer,
  structuredClone: (value) => clone(value),
  TextEncoder,
  TextDecoder,
  URL,
  URLSearchParams,
  crypto,
  atob: base64(op_mux_atob, "atob"),
  btoa: base64(op_mux_btoa, "btoa"),
  performance,
};
