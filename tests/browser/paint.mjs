// How heavy the page of `mux ui` is, and how soon it shows something, beside an empty page of the same browser.
//
// Started by `scripts/bench ui`. The daemon has its own home and ten test servers.

import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const [binaries, rounds = "20"] = process.argv.slice(2);
const { MUX_TEST_BROWSER, MUX_TEST_PLAYWRIGHT } = process.env;
const { chromium } = await import(pathToFileURL(join(MUX_TEST_PLAYWRIGHT, "index.mjs")).href);

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const ms = (number) => `${number.toFixed(0)} ms`;
const kb = (number) => `${(number / 1000).toFixed(1)} KB`;

// Opens it in a fresh context; what came, when something was painted, and when `ready` was so.
async function visit(browser, address, ready) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  const page = await context.newPage();
  const parts = [];
  page.on("response", (response) => {
    if (!/event-stream|json/.test(response.headers()["content-type"] ?? "")) parts.push(response.body());
  });
  await page.goto(address);
  const painted = await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  await page.waitForFunction(ready);
  const shown = await page.evaluate(() => performance.now());
  const bodies = await Promise.all(parts);
  const weight = bodies.reduce((sum, body) => sum + body.length, 0);
  const packed = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0);
  const first = await painted.jsonValue();
  await context.close();
  return { first, shown, weight, packed, files: bodies.length };
}

async function visits(browser, address, ready) {
  const all = [];
  // The first warms the browser.
  for (let round = 0; round <= Number(rounds); round++) all.push(await visit(browser, address, ready));
  const { weight, packed, files } = all[1];
  const of = (name) => median(all.slice(1).map((one) => one[name]));
  return { first: of("first"), shown: of("shown"), weight, packed, files };
}

const home = await mkdtemp(join(tmpdir(), "mux-paint-"));
const env = { ...process.env, MUX_HOME: home };
const servers = Array.from({ length: 10 }, (_, n) => `[servers.s${n}]\ncommand = "${join(binaries, "mux-fixture-server")}"\n`);
await writeFile(join(home, "config.toml"), servers.join(""));
const ui = spawn(join(binaries, "mux"), ["ui", "--no-open"], { env, stdio: ["ignore", "pipe", "inherit"] });
const empty = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<!doctype html><p>empty</p>"));
try {
  let address;
  for await (const line of createInterface(ui.stdout)) {
    address = /http:\S+/.exec(line)?.[0];
    if (address) break;
  }
  await new Promise((resolve) => empty.listen(0, "127.0.0.1", resolve));
  const browser = await chromium.launch({ executablePath: MUX_TEST_BROWSER });
  const base = await visits(browser, `http://127.0.0.1:${empty.address().port}/`, () => true);
  const page = await visits(browser, address, () => document.querySelector(".link")?.textContent === "live");
  await browser.close();
  console.log(`mux ui: ${page.files} files, ${kb(page.weight)} as served, ${kb(page.packed)} with gzip`);
  console.log(`first contentful paint: ${ms(page.first)}, of an empty page ${ms(base.first)} (${(page.first / base.first).toFixed(1)} times)`);
  console.log(`pool shown: ${ms(page.shown)}; medians of ${rounds}`);
} finally {
  empty.close();
  ui.kill();
  await new Promise((resolve) => spawn(join(binaries, "mux"), ["stop"], { env, stdio: "ignore" }).on("close", resolve));
  await rm(home, { recursive: true, force: true });
}
