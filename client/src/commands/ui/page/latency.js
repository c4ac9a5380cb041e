// How long calls take, by server and tool.

import { h } from "./draw.js";
import { known } from "./live.js";
import { nothing, redraw, serverLink, toolLink } from "./parts.js";
import { ms } from "./words.js";

const COLUMNS = [
  ["path", "Tool", ""],
  ["calls", "Calls", "number"],
  ["failed", "Failed", "number wide"],
  ["p50", "Median", "number"],
  ["p95", "95th", "number"],
  ["slowest", "Slowest", "number wide"],
];
let by = "path";
let down = false;

function sorted(list) {
  const order = (a, b) => (a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : a.path < b.path ? -1 : 1);
  return [...list].sort((a, b) => (down ? order(b, a) : order(a, b)));
}

// From the fastest to the slowest call on a common axis, which is logarithmic: tools differ by factors.
function range(latency, [least, most]) {
  const place = (value) => (100 * Math.log(Math.max(value, least) / least)) / Math.log(most / least);
  const between = (from, to) => ({ left: `${place(from).toFixed(2)}%`, width: `${Math.max(0.6, place(to) - place(from)).toFixed(2)}%` });
  return h(
    "div",
    { class: "range", "aria-hidden": "true" },
    h("i", { class: "all", style: between(latency.fastest, latency.slowest) }),
    h("i", { class: "most", style: between(latency.p50, latency.p95) }),
    h("i", { class: "half", style: { left: `${place(latency.p50).toFixed(2)}%` } }),
  );
}

// `scale` are the tools that share the axis.
export function table(list, scale = list) {
  const least = Math.max(0.01, Math.min(...scale.map((latency) => latency.fastest)));
  const most = Math.max(least * 10, ...scale.map((latency) => latency.slowest));
  const sort = (name) => () => {
    down = by === name ? !down : name !== "path";
    by = name;
    redraw();
  };
  return h(
    "table",
    { class: "latency" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        COLUMNS.map(([name, words, look]) =>
          h(
            "th",
            { class: look, scope: "col", "aria-sort": by === name ? (down ? "descending" : "ascending") : "none" },
            h("button", { class: "plain", onclick: sort(name) }, words, by === name && (down ? " \u25be" : " \u25b4")),
          ),
        ),
        h("th", { class: "wide scale", scope: "col" }, h("div", {}, h("span", {}, ms(least)), h("span", {}, ms(most)))),
      ),
    ),
    h(
      "tbody",
      {},
      sorted(list).map((latency) =>
        h(
          "tr",
          { key: latency.path },
          h("td", { class: "main" }, toolLink(latency.path, 90)),
          h("td", { class: "number" }, latency.calls.toLocaleString("en")),
          h("td", { class: `number wide ${latency.failed ? "bad" : ""}` }, latency.failed || ""),
          h("td", { class: "number" }, ms(latency.p50)),
          h("td", { class: "number" }, ms(latency.p95)),
          h("td", { class: "number wide" }, ms(latency.slowest)),
          h("td", { class: "wide" }, range(latency, [least, most])),
        ),
      ),
    ),
  );
}

export function latency() {
  const servers = new Map();
  for (const one of known.latencies) {
    servers.set(one.server, [...(servers.get(one.server) ?? []), one]);
  }
  return [
    h("h1", {}, "Latency"),
    h("p", { class: "quiet" }, "How long calls took since muxd started. The median and the 95th percentile are estimates. The axis is logarithmic, and the same for all servers."),
    servers.size === 0 && nothing("No tool was called since muxd started."),
    [...servers].sort().map(([server, list]) => h("section", { key: server }, h("h2", {}, serverLink(server)), table(list, known.latencies))),
  ];
}
