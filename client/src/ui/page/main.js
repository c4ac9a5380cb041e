// Which view stands where, and when it is drawn again.

import { approvals, leave as leaveApprovals } from "./approvals.js";
import { enter } from "./http.js";
import { draw, h } from "./draw.js";
import { latency } from "./latency.js";
import { follow, known, onNews, waiting } from "./live.js";
import { overview } from "./overview.js";
import { drawsWith, error, foreign } from "./parts.js";
import { leave as leaveRun, run } from "./run.js";
import { runs } from "./runs.js";
import { server } from "./server.js";
import { leave as leaveTools, tools } from "./tools.js";

const bar = document.getElementById("bar");
const page = document.getElementById("page");

const VIEWS = {
  "": { words: "Overview", draw: overview },
  runs: { words: "Runs", draw: (path) => (path ? run(path) : runs()) },
  latency: { words: "Latency", draw: latency },
  tools: { words: "Tools", draw: tools, leave: leaveTools },
  approvals: { words: "Approvals", draw: approvals, leave: leaveApprovals },
  servers: { draw: server },
};

// "#/runs/a-1?x=y" -> ["runs", "a-1", {x: "y"}]
function place() {
  const [path, values] = location.hash.replace(/^#\/?/, "").split("?");
  const slash = path.indexOf("/");
  const name = slash < 0 ? path : path.slice(0, slash);
  let rest = "";
  try {
    rest = slash < 0 ? "" : decodeURIComponent(path.slice(slash + 1));
  } catch {
    // An address that somebody cut off leads to nothing.
  }
  return [name in VIEWS ? name : "", rest, new URLSearchParams(values)];
}

function header(name) {
  const count = waiting().length;
  const link = known.link?.up ? undefined : (known.link?.reason ?? "");
  return [
    h("a", { class: "name", href: "#/" }, "muxd"),
    h(
      "nav",
      { "aria-label": "Views" },
      Object.entries(VIEWS)
        .filter(([, view]) => view.words)
        .map(([key, view]) =>
          h(
            "a",
            { key, href: `#/${key}`, "aria-current": key === name || (key === "" && name === "servers") ? "page" : undefined },
            view.words,
            key === "approvals" && count > 0 && h("b", { class: "badge" }, String(count)),
          ),
        ),
    ),
    h(
      "span",
      { class: `link ${known.stream === "open" && known.link?.up ? "good" : "bad"}`, role: "status" },
      known.stream === "opening" || !known.link ? "" : known.stream !== "open" ? "no mux ui" : link === undefined ? "live" : "no muxd",
    ),
  ];
}

function notice() {
  if (known.stream === "refused") {
    return h("p", { class: "problem", role: "alert", key: "notice" }, "This page was not let in. Open the address that ", h("code", {}, "mux ui"), " has printed; each start prints another.");
  }
  if (known.stream === "lost") {
    return h("p", { class: "problem", role: "alert", key: "notice" }, h("code", {}, "mux ui"), " does not answer. Start it again and open the address that it prints; what stands here is old.");
  }
  if (known.link && !known.link.up) {
    return h("p", { class: "problem", role: "alert", key: "notice" }, foreign(known.link.reason, 300), ". What stands here is old. This page goes on as soon as a muxd runs: ", h("code", {}, "mux status"), " starts none, any other command does.");
  }
  return undefined;
}

let last = [];

function drawAll() {
  const [name, path, values] = place();
  if (last[0] !== undefined && (last[0] !== name || last[1] !== path)) {
    if (last[0] !== name) VIEWS[last[0]].leave?.();
    if (last[0] === "runs" && last[1]) leaveRun();
    // What is found stands beside what is chosen.
    if (last[0] !== name || name !== "tools") window.scrollTo(0, 0);
  }
  last = [name, path];
  const count = waiting().length;
  document.title = `${count ? `(${count}) ` : ""}${path ? `${path.slice(0, 40)} \u00b7 ` : ""}muxd`;
  draw(bar, header(name));
  const whole = known.stream === "refused" ? undefined : view(VIEWS[name], path, values);
  draw(page, [notice(), h("div", { key: name === "tools" ? name : `${name} ${path}`, "data-view": name }, whole)]);
}

function view(of, path, values) {
  try {
    return of.draw(path, values);
  } catch (failure) {
    return error({ kind: "internal", message: `this view cannot be drawn: ${failure.message}` }, "view");
  }
}

let due = false;

function soon() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    drawAll();
  });
}

function isMoving() {
  if (known.trace && !known.trace.outcome && known.link?.up) return true;
  return [...known.runs.values()].some((one) => one.state === "running" || one.state === "waiting");
}

let beat = 0;
setInterval(() => {
  beat += 1;
  if (!document.hidden && (beat % 4 === 0 || isMoving())) soon();
}, 250);

drawsWith(soon);
onNews(soon);
addEventListener("hashchange", soon);
try {
  await enter();
  soon();
  follow();
} catch (failure) {
  known.stream = "refused";
  known.why = failure;
  soon();
}
