// The daemon ends and another one comes; then `mux ui` itself ends.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { close, go, launch, live, mux, open, run, says } from "./page.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

test("the page says that muxd has ended, starts none, and goes on with the next", async () => {
  await run("return await mux.fix.pid({})");
  const page = await open(browser, "/runs");
  await page.locator("td a", { hasText: "fix.pid" }).click();
  await says(page, "Result");
  const first = await mux("status");
  await mux("stop");
  await says(page, "muxd is not running");
  await says(page, "Showing the last known state");
  const status = await mux("status");
  assert.notEqual(status.pid, first.pid);
  await run("return 'in the next one'");
  await live(page);
  await go(page, "/runs");
  await says(page, "in the next one");
  // The history of the new daemon has the earlier run.
  assert.equal(await page.locator("td a", { hasText: "fix.pid" }).count(), 1);
  await close(page, ["404", "503"]);
});

test("a page whose mux ui has ended says so", async () => {
  const page = await open(browser);
  process.kill(Number(process.env.MUX_TEST_PAGE_PID), "SIGTERM");
  await says(page, "does not answer");
  await close(page, ["ERR_", "Failed to load"]);
});
