// Results that the daemon has stored because they are too long for one message: their beginning, and on request all of
// them.

import { h } from "./draw.js";
import { get, read } from "./http.js";
import { error, long, redraw } from "./parts.js";
import { bytes, json } from "./words.js";

// By handle: the text so far, and whether more of it is loading.
const loaded = new Map();

async function load(handle) {
  const value = { text: "", busy: true };
  loaded.set(handle, value);
  redraw();
  try {
    for (let offset = 0; offset !== undefined; ) {
      const page = await get("value", { handle, offset: String(offset) });
      value.text += page.text;
      offset = page.next;
      redraw();
    }
    value.whole = json(read(value.text));
  } catch (failure) {
    value.failure = failure;
  }
  value.busy = false;
  redraw();
}

export function storedResult({ handle, bytes: length, preview }, key) {
  const value = loaded.get(handle);
  if (value?.whole !== undefined) return long(value.whole, `stored ${key}`);
  return [
    h("p", { class: "quiet" }, `The first part of ${bytes(length)}. `, h("code", {}, `mux runs read ${handle}`), " prints all of it."),
    long(preview, `preview ${key}`),
    h(
      "button",
      { class: "small", key: `load ${key}`, disabled: value?.busy, onclick: () => load(handle) },
      value?.busy ? `Loading\u2026 ${bytes(value.text.length)}` : `Load all ${bytes(length)}`,
    ),
    value?.failure && error(value.failure, `stored ${key}`),
  ];
}
