// A page of `mux ui` in a real browser, and the commands that something happens by.
//
// Invariant: whoever opens a page has it looked at when it closes: no error, no refusal of its policy, no dialog, and
// no request to anybody but `mux ui`.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { pathToFileURL } from "node:url";

const { MUX_TEST_BROWSER, MUX_TEST_PLAYWRIGHT, MUX_TEST_PAGE, MUX_TEST_HOME, MUX_TEST_MUX } = process.env;
const { chromium } = await import(pathToFileURL(MUX_TEST_PLAYWRIGHT).href);
export const address = MUX_TEST_PAGE;
export const origin = new URL(address).origin;

const env = { MUX_HOME: MUX_TEST_HOME, HOME: MUX_TEST_HOME, PATH: process.env.PATH, SHELL: "/bin/sh" };

// The JSON output of a command, whether or not it succeeds.
export function mux(...args) {
  return new Promise((resolve, reject) => {
    const options = { env, cwd: MUX_TEST_HOME, maxBuffer: 1 << 26 };
    execFile(MUX_TEST_MUX, ["--json", ...args], options, (error, stdout) => {
      try {
        resolve(JSON.parse(stdout));
      } catch {
        reject(error ?? new Error(`no JSON: ${stdout}`));
      }
    });
  });
}

export const run = (code) => mux("run", "--no-check", "-e", code);

// A command that keeps running. `ended` resolves to its output.
export function begin(...args) {
  const child = spawn(MUX_TEST_MUX, ["--json", ...args], { env, cwd: MUX_TEST_HOME });
  let text = "";
  child.stdout.on("data", (more) => (text += more));
  child.ended = new Promise((resolve) => child.on("close", () => resolve(text ? JSON.parse(text) : undefined)));
  return child;
}

export const launch = () => chromium.launch({ executablePath: MUX_TEST_BROWSER });

// Opens the page, at a path, on a new screen.
export async function open(browser, at = "/", { wide = 1280, high = 860, scheme = "light", from = address } = {}) {
  const context = await browser.newContext({ viewport: { width: wide, height: high }, colorScheme: scheme });
  const page = await context.newPage();
  page.problems = watch(page);
  await page.goto(from);
  await live(page);
  await go(page, at);
  return page;
}

export function watch(page) {
  const problems = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("console", (message) => message.type() === "error" && problems.push(`console: ${message.text()}`));
  page.on("request", (request) => {
    const elsewhere = new URL(request.url()).origin !== origin;
    if (elsewhere) problems.push(`request: ${request.url()}`);
  });
  return problems;
}

export const live = (page) => page.waitForFunction(() => document.querySelector(".link")?.textContent === "live");

export async function go(page, at) {
  await page.evaluate((place) => {
    location.hash = `#${place}`;
  }, at);
}

// `expected` lists the allowed errors.
export async function close(page, expected = []) {
  const unexpected = page.problems.filter((problem) => !expected.some((part) => problem.includes(part)));
  await page.context().close();
  assert.deepEqual(unexpected, []);
}

// Waits until the page says this, anywhere.
export const says = (page, text) => page.getByText(text).first().waitFor();

// No element is wider than the screen.
export async function fits(page, where) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(over <= 0, `${where} is too wide by ${over} pixels`);
}

export const VIEWS = ["/", "/servers", "/tools", "/runs", "/approvals", "/latency", "/doctor"];
export const PHONE = { wide: 360, high: 740, scheme: "dark" };
