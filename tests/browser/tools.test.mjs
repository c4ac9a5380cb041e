// Tools: found by words, each with its types.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { PHONE, close, fits, go, launch, open, says } from "./page.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

test("servers that were never connected are connected by a click", async () => {
  const page = await open(browser, "/tools");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("link", { name: /^fix\.add/ }).waitFor();
  await close(page);
});

test("words find a tool, and its types stand beside what was found", async () => {
  const page = await open(browser, "/tools");
  await page.getByLabel("Find a tool").fill("two numbers");
  await page.getByRole("link", { name: /^fix\.add/ }).click();
  await says(page, "mux.fix.add(args");
  assert.equal(await page.getByLabel("Find a tool").inputValue(), "two numbers");
  await page.getByText("Arguments (JSON Schema)").click();
  await says(page, '"minimum": 0');
  await page.getByRole("link", { name: "fix", exact: true }).click();
  await says(page, "Command");
  await close(page);
});

test("the tools of one server, page by page", async () => {
  const page = await open(browser, "/tools?server=many");
  await page.getByRole("button", { name: /^Show more/ }).click();
  await page.locator(".hits li").nth(80).waitFor();
  assert.ok((await page.locator(".hits b").allInnerTexts()).every((path) => path.startsWith("many.")));
  await page.getByLabel("Server").selectOption("fix");
  await page.getByRole("link", { name: /^fix\.add/ }).waitFor();
  assert.match(page.url(), /server=fix/);
  await close(page);
});

test("on a phone one stands in the place of the other", async () => {
  const page = await open(browser, "/tools", PHONE);
  await page.getByRole("link", { name: /^fix\.add/ }).click();
  await says(page, "mux.fix.add(args");
  await fits(page, "tool");
  assert.ok(!(await page.getByLabel("Find a tool").isVisible()));
  await page.getByRole("link", { name: "All tools" }).click();
  await page.getByLabel("Find a tool").waitFor();
  await go(page, "/tools/fix.no_such_tool");
  await says(page, /no tool/);
  await close(page, ["404"]);
});
