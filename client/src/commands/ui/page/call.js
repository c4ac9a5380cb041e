// Calls a tool: a form made of its input schema, the call while it lasts, and its result.
//
// Invariant: the fields are sent as text, and the daemon reads and checks them as it does for `mux call`. Nothing is
// decided here about what fits.

import { cards } from "./approvals.js";
import { h } from "./draw.js";
import { post } from "./http.js";
import { error, foreign, long, redraw } from "./parts.js";
import { fields, mistakesOf } from "./schema.js";
import { storedResult } from "./stored.js";
import { json, ms } from "./words.js";

// By path: what was typed, and what became of the call.
const forms = new Map();

function formOf(path) {
  if (!forms.has(path)) forms.set(path, { values: Object.create(null), asJson: false, text: "{}" });
  return forms.get(path);
}

// The fields as JSON, to go on with it by hand: text that is no JSON is a string.
function asJsonText(list, values) {
  const members = list
    .filter(({ name }) => values[name])
    .map(({ name, isString }) => `  ${JSON.stringify(name)}: ${!isString && isJson(values[name]) ? values[name] : JSON.stringify(values[name])}`);
  return members.length ? `{\n${members.join(",\n")}\n}` : "{}";
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

async function send(path, form, list) {
  const abort = new AbortController();
  const call = { since: Date.now(), abort };
  Object.assign(form, { call, done: undefined, failure: undefined });
  redraw();
  const typed = list.map(({ name }) => [name, form.values[name] ?? ""]).filter(([, text]) => text !== "");
  const body = form.asJson ? { path, arguments: form.text } : { path, typed };
  try {
    const held = await post("call", body, abort.signal);
    if (form.call === call) Object.assign(form, held.error ? { failure: held.error } : { done: { ...held, took: Date.now() - call.since } });
  } catch (failure) {
    if (form.call !== call) return;
    form.failure = failure.name === "AbortError" ? { message: "You cancelled the call.", hint: "It may already have had an effect." } : failure;
  }
  if (form.call === call) form.call = undefined;
  redraw();
}

function field(one, form, path, at, mistakes) {
  const { name, type, required, description, choices, fallback, isString } = one;
  const id = `argument-${at}`;
  const own = mistakesOf(mistakes, name);
  const common = {
    id,
    "aria-describedby": `${id}-about`,
    "aria-invalid": own.length ? "true" : undefined,
    "aria-required": required ? "true" : undefined,
    value: form.values[name] ?? "",
    oninput(event) {
      form.values[name] = event.target.value;
      redraw();
    },
  };
  const control = choices
    ? h(
        "select",
        common,
        h("option", { value: "" }, "not sent"),
        choices.map((choice) => h("option", { key: choice, value: choice }, foreign(choice, 80))),
      )
    : h("textarea", { ...common, rows: 1, spellcheck: "false", class: isString ? "" : "code", placeholder: fallback === undefined ? "" : `default: ${fallback}` });
  return h(
    "div",
    { class: "field", key: `${path} ${name}` },
    h("label", { for: id }, h("b", { class: "path" }, foreign(name, 80)), " ", h("small", {}, type, required ? ", required" : "")),
    control,
    h(
      "div",
      { id: `${id}-about` },
      description && h("small", {}, foreign(description, 400)),
      choices && fallback !== undefined && h("small", {}, ` Default: ${fallback}`),
      own.map((mistake) => h("small", { class: "bad", key: mistake }, foreign(mistake, 400))),
    ),
  );
}

function controls(list, form, path) {
  const toggle = () => {
    if (!form.asJson) form.text = asJsonText(list, form.values);
    form.asJson = !form.asJson;
    redraw();
  };
  return h(
    "div",
    { class: "buttons" },
    h("button", { class: "good", key: "call", disabled: Boolean(form.call), onclick: () => send(path, form, list) }, form.call ? "Calling\u2026" : "Call tool"),
    form.call && h("button", { class: "bad", key: "cancel", onclick: () => form.call.abort.abort() }, "Cancel"),
    h("button", { key: "json", "aria-pressed": String(form.asJson), onclick: toggle }, "Edit as JSON"),
    form.call && h("span", { class: "quiet", key: "since" }, ms(Date.now() - form.call.since)),
  );
}

function result(form, path) {
  const { done, failure } = form;
  if (failure) return error(failure, `call ${path}`);
  if (!done) return undefined;
  const value = done.value;
  return [
    h("h3", { role: "status" }, `Result after ${ms(done.took)}`),
    done.stored ? storedResult(done.stored, `call ${path}`) : long(value === null ? "null" : json(value), `result ${path}`),
  ];
}

export function callForm(tool) {
  const { path } = tool;
  const form = formOf(path);
  const list = fields(tool.input_schema);
  const mistakes = form.failure?.details?.mistakes ?? [];
  // Ctrl+Enter in a field sends the call.
  const onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !form.call) send(path, form, list);
  };
  return h(
    "section",
    { class: "card call", key: `call ${path}`, "aria-label": "Call this tool", onkeydown },
    h("h2", {}, "Call this tool"),
    list.length === 0 && !form.asJson && h("p", { class: "quiet" }, "This tool takes no arguments."),
    form.asJson
      ? h("textarea", {
          class: "code json",
          rows: 8,
          "aria-label": "Arguments as JSON",
          spellcheck: "false",
          value: form.text,
          key: "json",
          oninput(event) {
            form.text = event.target.value;
          },
        })
      : list.map((one, at) => field(one, form, path, at, mistakes)),
    !form.asJson && list.length > 0 && h("p", { class: "quiet" }, "Empty fields are not sent. Arrays and objects are JSON. Ctrl+Enter calls the tool."),
    controls(list, form, path),
    form.call && cards((approval) => approval.client === "mux ui" && !approval.run),
    result(form, path),
  );
}
