// The views of the page, and when they are drawn again.

import { approvals, leave as leaveApprovals } from "./approvals.js";
import { enter } from "./http.js";
import { doctor, leave as leaveDoctor } from "./doctor.js";
import { draw, h } from "./draw.js";
import { latency } from "./latency.js";
import { follow, known, onNews, waiting } from "./live.js";
import { overview } from "./overview.js";
import { drawsWith, error, foreign } from "./parts.js";
import { leave as leaveRun, run } from "./run.js";
import { runs } from "./runs.js";
import { leave as leaveServer } from "./server.js";
import { leave as leaveActions } from "./server_actions.js";
import { servers } from "./servers.js";
import { leave as leaveTools, tools } from "./tools.js";

const bar = document.getElementById("bar");
const page = document.getElementById("page");

const VIEWS = {
  "": { words: "Overview", draw: overview },
  servers: { words: "Servers", draw: servers, leave: leaveActions },
  tools: { words: "Tools", draw: tools, leave: leaveTools },
  runs: { words: "Runs", draw: (path) => (path ? run(path) : runs()) },
  approvals: { words: "Approvals", draw: approvals, leave: leaveApprovals },
  latency: { words: "Latency", draw: latency },
  doctor: { words: "Doctor", draw: doctor, leave: leaveDoctor },
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
    // The address was cut off, and leads to nothing.
  }
  return [name in VIEWS ? name : "", rest, new URLSearchParams(values)];
}

function header(name) {
  const count = waiting().length;
  const link = known.link?.up ? undefined : (known.link?.reason ?? "");
  return [
    h("button", { class: "skip", onclick: () => page.focus() }, "Skip to content"),
    h("a", { class: "name", href: "#/" }, "muxd"),
    h(
      "nav",
      { "aria-label": "Views" },
      Object.entries(VIEWS).map(([key, view]) =>
          h(
            "a",
            { key, href: `#/${key}`, "aria-current": key === name ? "page" : undefined },
            view.words,
            key === "approvals" && count > 0 && h("b", { class: "badge" }, String(count), h("span", { class: "unseen" }, " waiting")),
          ),
        ),
    ),
    h(
      "span",
      { class: `link ${known.stream === "open" && known.link?.up ? "good" : "bad"}`, role: "status" },
      known.stream === "opening" || !known.link ? "" : known.stream !== "open" ? "disconnected" : link === undefined ? "live" : "muxd is not running",
    ),
  ];
}

function notice() {
  if (known.stream === "refused") {
    return h("p", { class: "problem", role: "alert", key: "notice" }, "This page has no access. Open the address that ", h("code", {}, "mux ui"), " printed; every start prints a new one.");
  }
  if (known.stream === "lost") {
    return h("p", { class: "problem", role: "alert", key: "notice" }, h("code", {}, "mux ui"), " does not answer. This page shows the last known state. Start it again and open the address that it prints.");
  }
  if (known.link && !known.link.up) {
    return h("p", { class: "problem", role: "alert", key: "notice" }, "muxd is not running. Showing the last known state; the page reconnects automatically. To start muxd, run a command such as ", h("code", {}, "mux servers"), ". ", h("small", {}, "Reason: ", foreign(known.link.reason, 300)));
  }
  return undefined;
}

let last = [];

function drawAll() {
  const [name, path, values] = place();
  if (last[0] !== undefined && (last[0] !== name || last[1] !== path)) {
    if (last[0] !== name) VIEWS[last[0]].leave?.();
    if (last[0] === "runs" && last[1]) leaveRun();
    if (last[0] === "servers" && last[1]) leaveServer();
    // The list of tools stays beside the selected tool.
    if (last[0] !== name || name !== "tools") window.scrollTo(0, 0);
  }
  const isNew = last[0] !== undefined && (last[0] !== name || last[1] !== path);
  const byKeyboard = document.activeElement?.matches(":focus-visible");
  last = [name, path];
  const count = waiting().length;
  document.title = `${count ? `(${count}) ` : ""}${path ? `${path.slice(0, 40)} \u00b7 ` : ""}muxd`;
  draw(bar, header(name));
  const whole = known.stream === "refused" ? undefined : view(VIEWS[name], path, values);
  draw(page, [notice(), h("div", { key: name === "tools" ? name : `${name} ${path}`, "data-view": name }, whole)]);
  if (isNew) focusAfterMove(name, path, byKeyboard);
}

// Moves the focus into the view that was opened, if the keyboard opened it or if the focus was lost.
function focusAfterMove(name, path, byKeyboard) {
  const pane = name === "tools" && path && page.querySelector(".tool");
  if (pane && byKeyboard) pane.focus({ preventScroll: true });
  else if (document.activeElement === document.body) page.focus({ preventScroll: true });
}

function view(of, path, values) {
  try {
    return of.draw(path, values);
  } catch (failure) {
    return error({ kind: "internal", message: `this view cannot be shown: ${failure.message}` }, "view");
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
