// Tools are called by a form: with the daemon's checks, its policy, its approvals, and the whole result.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { PHONE, close, fits, go, launch, mux, open, says } from "./page.mjs";

let browser;
before(async () => {
  browser = await launch();
  await mux("tools");
});
after(() => browser.close());

const call = (page) => page.getByRole("button", { name: "Call tool" }).click();

test("numbers are sent as the schema wants them, and the result is shown", async () => {
  const page = await open(browser, "/tools/fix.add");
  await page.getByLabel("a number, required").fill("1.5");
  await page.getByLabel("b number, required").fill("2");
  await call(page);
  await says(page, '"sum": 3.5');
  await close(page);
});

test("arguments that do not fit are refused by the daemon, and shown at their fields", async () => {
  const page = await open(browser, "/tools/fix.add");
  await page.getByLabel("a number, required").fill("-1");
  await call(page);
  await says(page, "do not fit");
  const low = page.locator(".field", { hasText: "less than the minimum" });
  assert.equal(await low.locator("textarea").getAttribute("aria-invalid"), "true");
  assert.match(await low.locator("label").innerText(), /^a /);
  await page.locator(".field", { hasText: "is a required property" }).waitFor();
  // The hint has the signature.
  await says(page, "Promise<{ sum: number }>");
  await page.getByLabel("a number, required").fill("1");
  await page.getByLabel("b number, required").fill("1");
  await page.keyboard.press("Control+Enter");
  await says(page, '"sum": 2');
  assert.equal(await page.locator("[aria-invalid]").count(), 0);
  await close(page);
});

test("choices, lists and values become fields, and integers stay exact", async () => {
  const page = await open(browser, "/tools/fix.echo_json");
  // Required first.
  assert.match(await page.locator(".field label").first().innerText(), /^value JSON, required/);
  await says(page, "How it sounds");
  const mood = page.getByLabel(/^mood/);
  assert.deepEqual(await mood.locator("option").allInnerTexts(), ["not sent", "calm", "bold"]);
  await says(page, "Default: calm");
  assert.deepEqual(await page.getByLabel(/^loud/).locator("option").allInnerTexts(), ["not sent", "true", "false"]);
  await mood.selectOption("bold");
  await page.getByLabel(/^tags/).fill('["one", "two"]');
  await page.getByLabel(/^value/).fill('{"id": 12345678901234567890, "text": "caf\u00e9"}');
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  const text = await page.getByLabel("Arguments as JSON").inputValue();
  assert.ok(text.includes('"id": 12345678901234567890') && text.includes('"mood": "bold"') && text.includes('"tags": ["one", "two"]'), text);
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  await call(page);
  await says(page, "12345678901234567890");
  await says(page, "caf\u00e9");
  await close(page);
});

test("text that is no JSON is refused where it was typed", async () => {
  const page = await open(browser, "/tools/fix.echo_json");
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  await page.getByLabel("Arguments as JSON").fill('{"value": ');
  await call(page);
  await says(page, "the arguments are not JSON");
  await page.getByLabel("Arguments as JSON").fill("[1]");
  await call(page);
  await says(page, "they must be one object");
  await page.getByLabel("Arguments as JSON").fill('{"value": 7, "nothing": 1}');
  await call(page);
  await says(page, 'there is no argument "nothing"');
  await close(page, ["422"]);
});

test("a call that needs an approval shows it at the form", async () => {
  const page = await open(browser, "/tools/fix.counter", PHONE);
  await page.getByLabel(/^key/).fill("visits");
  await call(page);
  const card = page.locator(".call .approval", { hasText: "visits" });
  await card.waitFor();
  await fits(page, "held call");
  await card.getByRole("button", { name: "Allow once" }).click();
  await says(page, "Result after");
  await card.waitFor({ state: "detached" });
  await close(page);
});

test("a denied call names the rule", async () => {
  const page = await open(browser, "/tools/fix.env");
  await page.getByLabel(/^name/).fill("PATH");
  await call(page);
  await says(page, "secrets are there");
  await close(page);
});

test("a call is cancelled, and a failed one shows the tool's error", async () => {
  const page = await open(browser, "/tools/fix.sleep");
  await page.getByLabel(/^ms/).fill("60000");
  await call(page);
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await says(page, "You cancelled the call.");
  while ((await mux("servers"))[0].in_flight > 0);
  await go(page, "/tools/fix.fail");
  await page.getByLabel(/^message/).fill("it failed on purpose");
  await call(page);
  await says(page, "it failed on purpose");
  await close(page);
});

test("a long result is shown whole", async () => {
  const page = await open(browser, "/tools/fix.blob");
  await page.getByLabel(/^bytes/).fill("700000");
  await call(page);
  await page.getByRole("button", { name: /^Load all/ }).click();
  await page.getByRole("button", { name: /^Show all/ }).click();
  await page.waitForFunction(() => document.querySelector(".call").textContent.length > 700000);
  await close(page);
});
