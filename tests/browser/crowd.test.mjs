// Much at once: 200 runs, a run of 500 calls, more tabs than a browser has connections.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { PHONE, close, fits, go, launch, live, open, origin, run, says } from "./page.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const LONG = "a".repeat(300);

test("a run of 500 calls is shown whole, filtered, and scrolled", async () => {
  await run(`const ${LONG} = 25; for (let n = 0; n < ${LONG}; n++) await Promise.all(Array.from({ length: 20 }, (_, m) =>
    m === 7 ? mux.fix.fail({ message: "no" }).catch(() => {}) : mux.fix.echo({ text: "x" })))`);
  const page = await open(browser, "/runs");
  await page.locator("td a", { hasText: "aaa" }).click();
  // In each round one call fails. The last twelve of a round and the first seven of the next are alike.
  await page.locator(".fold").nth(24).waitFor({ state: "attached" });
  assert.ok((await page.locator(".row").count()) < 60);
  await page.getByRole("button", { name: /^.? ?fix\.echo \u00d7 19/ }).first().click();
  await page.locator(".row.folded").nth(18).waitFor();
  assert.equal(await page.locator(".row.folded").count(), 19);
  await page.getByRole("button", { name: /^.? ?fix\.echo \u00d7 19/ }).first().click();
  await page.locator(".row.folded").first().waitFor({ state: "detached" });
  await page.getByLabel("Failed only").check();
  await says(page, /^25 of 50\d$/);
  await page.getByRole("button", { name: /fix\.fail \u00d7 25/ }).waitFor();
  assert.equal(await page.locator(".row").count(), 1);
  await page.getByLabel("Failed only").uncheck();
  await page.getByLabel("Filter the timeline").fill("fix.echo");
  await says(page, /^475 of 50\d$/);
  assert.equal(await page.locator(".row").count(), 1);
  await page.getByRole("button", { name: /fix\.echo \u00d7 475/ }).click();
  await page.locator(".row.folded").nth(474).waitFor({ state: "attached" });
  assert.equal(await page.locator(".row").count(), 476);
  await page.locator(".row").last().scrollIntoViewIfNeeded();
  await page.locator(".row button").last().click();
  await says(page, "started at");
  await close(page);
});

test("two hundred runs are listed, and found by words", async () => {
  await run(`return 0 // the first`);
  await Promise.all([0, 1, 2, 3].map(async (part) => {
    for (let n = 0; n < 50; n++) await run(`return ${part * 50 + n}; // number`);
  }));
  const page = await open(browser, "/runs");
  await page.locator("tbody tr").nth(199).waitFor();
  await page.getByLabel("Filter runs").fill("return 142;");
  await says(page, /^1 of 20\d runs$/);
  assert.equal(await page.locator("tbody tr").count(), 1);
  await page.getByLabel("Filter runs").fill("");
  await page.getByRole("button", { name: "failed", exact: true }).click();
  await says(page, "No runs match.");
  await close(page);
});

test("long names and many rows fit a phone", async () => {
  const page = await open(browser, "/runs", PHONE);
  await page.locator("tbody tr").nth(100).waitFor();
  await fits(page, "runs");
  await go(page, "/");
  await page.locator("tbody tr").first().waitFor();
  await fits(page, "overview");
  await close(page);
});

test("ten tabs are live, one after the other", async () => {
  const page = await open(browser);
  const tabs = [];
  for (let n = 0; n < 10; n++) {
    const tab = await page.context().newPage();
    await tab.goto(`${origin}/#/runs`);
    tabs.push(tab);
    await live(tab);
    // As when another one is looked at: the browser of these tests never hides one by itself.
    await tab.evaluate(() => {
      Object.defineProperty(document, "hidden", { value: true, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
  }
  await close(page);
});
