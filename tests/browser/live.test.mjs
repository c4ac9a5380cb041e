// A run while it runs: its calls as bars, its words, its end; and servers that fail.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { PHONE, begin, close, fits, go, launch, mux, open, run, says } from "./page.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const CODE = `
// Counts to two
await mux.fix.add({ a: 1, b: 2 });
console.log("at the barrier");
const both = [mux.fix.barrier({ name: "go", parties: 3 }), mux.fix.barrier({ name: "go", parties: 3 })];
try { await mux.fix.fail({ message: "it failed on purpose" }) } catch {}
await Promise.all(both);
return { ended: "well" };`;

test("calls are shown while they are on their way, and when they have ended", async () => {
  const page = await open(browser, "/runs");
  const running = begin("run", "--no-check", "-e", CODE);
  await page.getByRole("link", { name: "Counts to two" }).click();
  await says(page, "at the barrier");
  await page.locator(".span.open").nth(1).waitFor();
  assert.equal(await page.locator(".span.open").count(), 2);
  assert.equal(await page.locator(".span.call").count(), 4);
  assert.equal(await page.getByRole("button", { name: "Cancel" }).count(), 1);
  // The third party.
  await run(`await mux.fix.barrier({ name: "go", parties: 3 })`);
  assert.deepEqual((await running.ended).result, { ended: "well" });
  await says(page, "\"ended\": \"well\"");
  assert.equal(await page.locator(".span.open").count(), 0);
  assert.equal(await page.locator(".span.done").count() >= 3, true);
  await page.locator(".span.failed").click();
  await says(page, "it failed on purpose");
  await page.locator(".details a").click();
  await says(page, "TypeScript");
  await close(page);
});

test("a click cancels a run", async () => {
  const page = await open(browser, "/runs");
  const running = begin("run", "--no-check", "-e", "await mux.fix.sleep({ ms: 60000 })");
  await page.getByRole("link", { name: /60000/ }).click();
  await page.locator(".span.open").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.equal((await running.ended).error.kind, "cancelled");
  await page.locator("main .state", { hasText: "cancelled" }).or(page.locator("main .state", { hasText: "failed" })).first().waitFor();
  // The call may or may not have had its effect.
  await page.locator(".span.failed, .span.lost").waitFor();
  await close(page);
});

test("a server that does not start says why, and what to do", async () => {
  const failed = await mux("call", "dead.echo", "text=x");
  assert.equal(failed.ok, false);
  const page = await open(browser);
  await page.locator("tr", { hasText: "dead" }).locator(".state.bad, .state.warn").waitFor();
  await page.getByRole("link", { name: "dead" }).click();
  await says(page, "exit code 3");
  await page.getByRole("log", { name: "Log" }).getByText("fatal line").first().waitFor();
  await go(page, "/servers/fix");
  await says(page, "fix.add");
  await close(page);
});

test("latencies are those of the calls", async () => {
  await run("for (let n = 0; n < 20; n++) await mux.fix.echo({ text: 'x' })");
  const page = await open(browser, "/latency");
  const row = page.locator("tr", { hasText: "fix.echo" });
  await row.waitFor();
  const cells = await row.locator("td").allInnerTexts();
  assert.equal(cells[1], "20");
  assert.match(cells[3], /ms$/);
  await page.getByRole("button", { name: "Calls" }).click();
  await page.locator("th[aria-sort=descending]").waitFor();
  assert.match(await page.locator("tbody tr").first().innerText(), /fix\.echo/);
  await close(page);
});

test("a run and a server fit a phone", async () => {
  const page = await open(browser, "/runs", PHONE);
  await fits(page, "runs");
  await page.getByRole("link", { name: "Counts to two" }).click();
  await page.locator(".row").first().waitFor();
  await fits(page, "run");
  for (const view of ["/", "/latency", "/servers/fix", "/servers/dead"]) {
    await go(page, view);
    await page.locator(`[data-view="${view.split("/")[1]}"] h1`).first().waitFor({ state: "attached" });
    await fits(page, view);
  }
  await close(page);
});
