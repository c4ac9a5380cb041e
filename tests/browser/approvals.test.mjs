// Calls that wait: one click lets them go on, or not.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { PHONE, begin, close, fits, go, launch, mux, open, says } from "./page.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const counting = (key) => begin("run", "--no-check", "-e", `return await mux.fix.counter({ key: ${JSON.stringify(key)} })`);
const card = (page, text) => page.locator(".approval", { hasText: text });

test("a call is allowed once, where its arguments and its reason are shown", async () => {
  const page = await open(browser);
  const running = counting("first");
  await says(page, "it counts");
  assert.match(await page.title(), /^\(1\)/);
  await card(page, "first").getByRole("button", { name: "Allow once" }).click();
  assert.equal((await running.ended).result, "1");
  await says(page, "was allowed once");
  await card(page, "first").waitFor({ state: "detached" });
  await close(page);
});

test("a call is denied from its run", async () => {
  const page = await open(browser, "/runs");
  const running = counting("second");
  await page.getByRole("link", { name: /second/ }).click();
  await page.locator(".span.approval").waitFor();
  await card(page, "second").getByRole("button", { name: "Deny" }).click();
  assert.equal((await running.ended).error.kind, "denied");
  await says(page, "was denied");
  await page.locator(".span.approval.denied").waitFor();
  await close(page);
});

test("a click right after the list has moved decides nothing", async () => {
  const page = await open(browser, "/approvals");
  const one = counting("third");
  await card(page, "third").getByRole("button", { name: "Allow once" }).waitFor();
  const two = counting("fourth");
  const button = card(page, "fourth").getByRole("button", { name: "Allow once" });
  await button.waitFor();
  // The approval there has just arrived.
  const rested = await page.evaluate(() => {
    const buttons = [...document.querySelectorAll(".approval button.good")];
    for (const each of buttons) each.click();
    return buttons.map((each) => each.disabled);
  });
  assert.deepEqual(rested, [true, true]);
  const waiting = (await mux("approvals")).approvals;
  assert.equal(waiting.length, 2);
  // The first approval stays first, and never moves.
  assert.match(await page.locator(".approval").first().innerText(), /third/);
  await card(page, "fourth").getByRole("button", { name: "Allow once" }).click();
  assert.equal((await two.ended).result, "1");
  await mux("deny", waiting.find((approval) => approval.arguments.key === "third").approval);
  assert.equal((await one.ended).error.kind, "denied");
  await says(page, "No calls are waiting for your approval");
  await close(page);
});

test("always asks again, names what it allows, and can be revoked", async () => {
  const page = await open(browser, "/approvals", PHONE);
  const running = counting("fifth");
  const other = counting("sixth");
  await card(page, "sixth").getByRole("button", { name: "Always" }).waitFor();
  await fits(page, "approvals");
  await card(page, "fifth").getByRole("button", { name: "Always" }).click();
  const confirm = page.getByRole("group", { name: "Confirm always" });
  await confirm.waitFor();
  await fits(page, "confirm");
  // Text that is out of sight counts, too.
  const words = await confirm.textContent();
  for (const part of ["every call of fix.counter", "any arguments", "every client that does not name an agent", "until you revoke it", "sixth"]) {
    assert.ok(words.includes(part), `${part}: ${words}`);
  }
  // The focus is on the way out, and Escape takes it: nothing is decided.
  await page.waitForFunction(() => document.activeElement?.textContent === "Back");
  await page.keyboard.press("Escape");
  await confirm.waitFor({ state: "detached" });
  assert.equal((await mux("approvals")).approvals.length, 2);
  assert.equal((await mux("approvals", "--granted")).granted.length, 0);
  await page.locator(".approval").first().getByRole("button", { name: "Always" }).click();
  await confirm.getByRole("button", { name: "release 2 calls" }).click();
  assert.equal((await running.ended).result, "1");
  assert.equal((await other.ended).result, "1");
  await page.getByRole("button", { name: "Revoke" }).waitFor();
  assert.equal((await mux("approvals", "--granted")).granted.length, 1);
  await page.getByRole("button", { name: "Revoke" }).click();
  await says(page, "No tools are always allowed.");
  assert.equal((await mux("approvals", "--granted")).granted.length, 0);
  await go(page, "/");
  await close(page);
});
