// Servers: those with problems first, what can be done about them, and the checks of `mux doctor`.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { close, go, launch, mux, open, says } from "./page.mjs";

let browser;
before(async () => {
  browser = await launch();
  await mux("tools");
});
after(() => browser.close());

const row = (page, name) => page.locator("tbody tr", { has: page.getByRole("link", { name, exact: true }) });
const named = async (name) => (await mux("servers")).find((server) => server.name === name);

test("servers with problems come first, and the daemon's own figures last", async () => {
  const page = await open(browser, "/servers");
  await row(page, "zz_dead").locator(".state.bad, .state.warn").waitFor();
  assert.match(await page.locator("tbody tr").first().innerText(), /zz_dead/);
  assert.equal(await page.locator("nav [aria-current]").innerText(), "Servers");
  await go(page, "/");
  await says(page, "Uptime");
  const top = (text) => page.locator("main h2", { hasText: text }).evaluate((found) => found.getBoundingClientRect().top);
  assert.ok((await top("Servers")) < (await top("Runs")) && (await top("Runs")) < (await top("Daemon")));
  assert.match(await page.locator(".servers tbody tr").first().innerText(), /zz_dead/);
  await close(page);
});

test("a server is restarted", async () => {
  const before = await named("fix");
  const page = await open(browser, "/servers/fix");
  await page.getByRole("button", { name: "Restart fix" }).click();
  await says(page, "Restarted: 29 tools.");
  const after = await named("fix");
  assert.notEqual(after.pid, before.pid);
  assert.equal(after.starts, before.starts + 1);
  await close(page);
});

test("a server that cannot be restarted says why", async () => {
  const page = await open(browser, "/servers");
  await page.getByRole("button", { name: "Restart zz_dead" }).click();
  await row(page, "zz_dead").getByRole("alert").waitFor();
  assert.match(await row(page, "zz_dead").getByRole("alert").innerText(), /exit code 3/);
  await close(page, ["503"]);
});

test("a server is disabled in config.toml, and enabled again", async () => {
  const page = await open(browser, "/servers");
  await page.getByRole("button", { name: "Disable other" }).click();
  await row(page, "other").getByText("disabled", { exact: true }).waitFor();
  assert.equal((await mux("config", "get", "servers.other.enabled")).value, false);
  // Disabled servers come last, whatever their names.
  assert.match(await page.locator("tbody tr").last().innerText(), /^other/);
  assert.equal(await page.getByRole("button", { name: "Restart other" }).count(), 0);
  await page.getByRole("button", { name: "Enable other" }).click();
  await page.getByRole("button", { name: "Disable other" }).waitFor();
  assert.equal((await mux("config", "get", "servers.other.enabled")).value, true);
  await close(page);
});

test("the log of a server is shown, and goes on", async () => {
  const page = await open(browser, "/servers/fix");
  const before = await page.getByRole("log", { name: "Log" }).locator(".line").count();
  await mux("call", "fix.stderr", "lines=3");
  await page.getByRole("log", { name: "Log" }).locator(".line").nth(before + 2).waitFor();
  await close(page);
});

test("a server without a sandbox says so, and what suggests one", async () => {
  const page = await open(browser, "/servers/fix");
  await says(page, "it has all of your rights");
  await says(page, "mux servers sandbox fix --suggest");
  await close(page);
});

test("the checks of mux doctor are shown with their fixes, the most severe first", async () => {
  const page = await open(browser, "/doctor");
  await says(page, "Check again");
  await page.locator(".finding").first().waitFor();
  const verdicts = await page.locator(".findings").first().locator(".state").allInnerTexts();
  const severity = ["failure", "warning", "note"];
  assert.deepEqual(verdicts, verdicts.toSorted((a, b) => severity.indexOf(a) - severity.indexOf(b)));
  assert.match(await page.locator(".finding").first().innerText(), /zz_dead[^]*Fix:/);
  const { checks } = await mux("doctor");
  assert.equal(verdicts.length, checks.filter((check) => check.verdict !== "ok").length);
  await page.getByText(/checks passed/).click();
  await says(page, "muxd is ");
  await close(page);
});
