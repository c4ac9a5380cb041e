// How this page is let in, and how it asks.
//
// Invariant: the token stands with this page's tabs only. The address loses it at once, so that no bookmark or
// screenshot has it; no cookie has it, because those go to every port of this machine.

const KEPT = "mux-token";
const channel = new BroadcastChannel("mux-token");
let token = sessionStorage.getItem(KEPT);

// Another tab of this page may ask for it.
channel.onmessage = ({ data }) => {
  if (data?.wanted && token) channel.postMessage({ token });
};

function keep(found) {
  token = found;
  sessionStorage.setItem(KEPT, found);
}

// Takes the token out of the address, or asks those who may have it.
export async function enter() {
  const said = new URLSearchParams(location.hash.slice(1));
  if (said.has("token") || said.has("code")) {
    history.replaceState(null, "", "/#/");
    if (said.has("token")) return keep(said.get("token"));
    const { token: found } = await post("enter", { code: said.get("code") });
    return keep(found);
  }
  if (!token) {
    const found = await another();
    if (found) keep(found);
  }
}

// The token of another tab, for one that was opened from it.
function another() {
  return new Promise((resolve) => {
    const listening = new BroadcastChannel("mux-token");
    const done = (found) => {
      listening.close();
      resolve(found);
    };
    listening.onmessage = ({ data }) => data?.token && done(data.token);
    channel.postMessage({ wanted: true });
    setTimeout(done, 300);
  });
}

export class Refused extends Error {
  constructor(status, error) {
    super(error?.message ?? `the answer was ${status}`);
    this.status = status;
    this.hint = error?.hint;
    this.kind = error?.kind;
    this.details = error?.details;
  }
}

async function send(path, options) {
  const headers = { Authorization: `Bearer ${token ?? ""}`, ...options.headers };
  let response;
  try {
    response = await fetch(`/api/${path}`, { ...options, headers, credentials: "omit", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { message: "`mux ui` does not answer", hint: "It may have been stopped. Start it again in a terminal." });
  }
  if (response.ok) return response;
  const text = await response.text();
  let said;
  try {
    said = JSON.parse(text).error;
  } catch {
    // The server answers a request that it cannot read with a sentence.
    said = { message: `the request was refused with status ${response.status}: ${text.slice(0, 300)}` };
  }
  throw new Refused(response.status, said);
}

function query(values) {
  const said = Object.entries(values ?? {}).filter(([, value]) => value !== undefined && value !== "");
  return said.length ? `?${new URLSearchParams(said)}` : "";
}

// Reads JSON. Integers that a number of JavaScript would round stay as they are written, where the browser can do so.
export function read(text) {
  return JSON.parse(text, (_, value, context) => {
    const rounded = Number.isInteger(value) && !Number.isSafeInteger(value);
    return rounded && context && JSON.rawJSON ? JSON.rawJSON(context.source) : value;
  });
}

export async function get(path, values) {
  return read(await (await send(path + query(values), {})).text());
}

export async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return read(await (await send(path, { method: "POST", headers, body: JSON.stringify(body), signal })).text());
}

// Messages, one after the other, until they end.
export async function* stream(path, values, signal) {
  const response = await send(path + query(values), { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      if (part.startsWith("data: ")) yield read(part.slice(6));
    }
  }
}
