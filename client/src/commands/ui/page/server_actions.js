// The actions on a server: restart, enable, disable, sign in.
//
// Invariant: the address of a sign-in is shown before it is opened, and only a click of the user opens it.

import { h } from "./draw.js";
import { post } from "./http.js";
import { attempt, error, foreign, prose, redraw } from "./parts.js";
import { count } from "./words.js";

const LOGIN_INTERVAL = 1000;
// By server: the action in progress, what the last one did, why it failed.
const acts = new Map();
// By server: its sign-in.
const logins = new Map();

export function leave() {
  for (const [name, act] of acts) {
    if (!act.busy) acts.delete(name);
  }
  for (const [name, login] of logins) {
    if (login.state || login.failure) logins.delete(name);
  }
}

function act(name, busy, action) {
  acts.set(name, { busy });
  redraw();
  return attempt(
    async () => acts.set(name, { done: await action() }),
    (failure) => acts.set(name, { failure }),
  );
}

const restart = (name) =>
  act(name, "restart", async () => {
    const { tools } = await post("restart", { server: name });
    return `Restarted${tools === undefined ? "" : `: ${count(tools, "tool")}`}.`;
  });

const setEnabled = (name, enabled) =>
  act(name, "switch", async () => {
    const edit = await post("switch", { server: name, enabled });
    const done = enabled ? "Enabled in config.toml." : "Disabled in config.toml.";
    return edit.not_reloaded ? `${done} muxd has not read the change: ${edit.not_reloaded}` : done;
  });

async function signIn(name) {
  const login = {};
  logins.set(name, login);
  redraw();
  try {
    login.started = await post("login", { server: name });
    redraw();
    do {
      const state = await post("login/wait", { login: login.started.login });
      // Another sign-in may have begun, or this one may have ended by a pasted address.
      if (logins.get(name) !== login || login.state) return;
      if (state.pending) await new Promise((wake) => setTimeout(wake, LOGIN_INTERVAL));
      else login.state = state;
    } while (!login.state);
  } catch (failure) {
    if (!login.state) login.failure = failure;
  }
  redraw();
}

function finish(login) {
  login.pasteFailure = undefined;
  return attempt(
    async () => {
      const state = await post("login/finish", { login: login.started.login, redirect_url: login.pasted.trim() });
      if (!state.pending) login.state = state;
    },
    (failure) => (login.pasteFailure = failure),
  );
}

export function buttons(server, look = "") {
  const { name } = server;
  const { busy } = acts.get(name) ?? {};
  const login = logins.get(name);
  const isLoggingIn = login && !login.state && !login.failure;
  const off = server.state === "disabled";
  const label = (verb) => ({ class: look, "aria-label": `${verb} ${name}`, disabled: Boolean(busy) });
  return [
    server.auth &&
      !off &&
      h(
        "button",
        { ...label("Sign in to"), key: "login", class: `${look} ${server.auth === "required" ? "good" : ""}`, disabled: Boolean(isLoggingIn), onclick: () => signIn(name) },
        server.auth === "required" ? "Sign in" : "Sign in again",
      ),
    !off && h("button", { ...label("Restart"), key: "restart", onclick: () => restart(name) }, busy === "restart" ? "Restarting\u2026" : "Restart"),
    // The entry of a project's server is in a file of the project.
    !server.project &&
      h("button", { ...label(off ? "Enable" : "Disable"), key: "switch", onclick: () => setEnabled(name, off) }, busy === "switch" ? "Saving\u2026" : off ? "Enable" : "Disable"),
  ];
}

// The outcome of the last action, and the sign-in.
export function outcome(server) {
  const { done, failure } = acts.get(server.name) ?? {};
  return [
    done && h("p", { class: "said", role: "status", key: "done" }, prose(done)),
    failure && error(failure, `action ${server.name}`),
    signInCard(server.name),
  ];
}

function signInCard(name) {
  const login = logins.get(name);
  if (!login) return undefined;
  const { started, state, failure } = login;
  if (failure) return error(failure, `login ${name}`);
  if (state) return signedIn(state);
  if (!started) return h("p", { class: "said", role: "status", key: "login" }, "Looking for the authorization server\u2026");
  return h(
    "section",
    { class: "card", key: "login", "aria-label": `Sign in to ${name}` },
    started.notes?.map((note) => h("p", { key: note }, prose(note))),
    started.url
      ? [
          h("p", {}, "Sign in at ", h("b", {}, foreign(new URL(started.url).host, 200)), "."),
          h("p", {}, h("a", { class: "button good", away: started.url, target: "_blank", rel: "noopener noreferrer" }, "Open the sign-in page")),
          h("details", {}, h("summary", {}, "Address"), h("p", {}, h("code", {}, foreign(started.url, 4000)))),
          paste(login),
        ]
      : h("p", {}, "The sign-in of ", foreign(started.covered_by ?? "another server", 80), " covers this server."),
    h("p", { class: "quiet", role: "status" }, "Waiting for you to finish signing in\u2026"),
  );
}

// A browser on another machine cannot reach the address to which the sign-in sends it.
function paste(login) {
  return h(
    "details",
    {},
    h("summary", {}, "Does your browser run on another machine?"),
    h("p", {}, "Sign in, then paste the address that your browser shows:"),
    h(
      "div",
      { class: "strip" },
      h("input", {
        type: "text",
        "aria-label": "Final address",
        oninput(event) {
          login.pasted = event.target.value;
        },
      }),
      h("button", { onclick: () => login.pasted?.trim() && finish(login) }, "Finish"),
    ),
    login.pasteFailure && error(login.pasteFailure, "paste"),
  );
}

function signedIn({ who, tools, problem }) {
  const facts = [who && [" as ", foreign(who, 80)], tools !== undefined && `: ${count(tools, "tool")}`];
  return [
    h("p", { class: "said", role: "status", key: "login" }, "Signed in", facts, "."),
    problem && h("p", { class: "problem", key: "login problem" }, prose(problem)),
  ];
}
