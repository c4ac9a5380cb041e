// Server strings are shown as text: markup in names and descriptions, letters that turn others around, a megabyte
// of words.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { PHONE, VIEWS, begin, close, fits, go, launch, open, run, says } from "./page.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const MARKUP = "<img src=x onerror=alert(document.domain)>";

// No element was created, the page has no invisible text, and the markup is readable.
async function isText(page, where) {
  const found = await page.evaluate(() => ({
    made: document.querySelectorAll("img, iframe, object, embed, body script, svg, style").length,
    unseen: /[\u202a-\u202e\u2066-\u2069\u200b]/.test(document.body.textContent),
    // What is sent has to be what the server wrote.
    hidden: [...document.querySelectorAll("*")].flatMap((element) => [...element.attributes]).some(({ name, value }) => name !== "value" && /[\u202a-\u202e\u2066-\u2069\u200b]/.test(value)),
  }));
  assert.deepEqual(found, { made: 0, unseen: false, hidden: false }, where);
}

test("names and descriptions are text in every view", async () => {
  const paths = await run("return (await mux.catalog.tools({ namespace: 'fix', limit: 100 })).map?.((tool) => tool.path) ?? null");
  assert.ok(paths.ok, JSON.stringify(paths));
  await run(`try { await mux.fix.fail({ message: "x" }) } catch (error) { console.log(error.message); throw error }`);
  await run(`console.log(${JSON.stringify(`${MARKUP} \u202e turned`)}); return ${JSON.stringify([MARKUP, "\u202e turned"])}`);
  await run(`throw new Error(${JSON.stringify(MARKUP)}) // ${MARKUP}`);
  const waits = begin("run", "--no-check", "-e", `return await mux.fix.echo_json({ value: ${JSON.stringify(MARKUP)} })`);
  const page = await open(browser, "/tools");
  await says(page, "<img src=x onerror=");
  await isText(page, "tools");
  await page.locator(".hits a").nth(2).waitFor();
  const links = await page.locator(".hits a").evaluateAll((all) => all.map((link) => link.getAttribute("href").slice(1)));
  const strange = links.filter((link) => /img|turn|counter/i.test(link));
  assert.ok(strange.length >= 3, links.join(" "));
  for (const place of strange) {
    await go(page, place);
    await says(page, "TypeScript");
    await isText(page, place);
  }
  await go(page, "/tools/fix.cwd");
  await page.locator(".field").nth(2).waitFor();
  await says(page, "<img src=x onerror=");
  await isText(page, "form");
  await page.locator(".field textarea").first().fill(`${MARKUP} \u202e`);
  await page.getByRole("button", { name: "Call tool" }).click();
  await page.locator(".call").getByRole("alert").or(page.locator(".call h3")).first().waitFor();
  await isText(page, "called");
  await go(page, "/runs");
  await page.locator("tbody tr").nth(2).waitFor();
  const runs = await page.locator("td.main a").evaluateAll((all) => all.map((link) => link.getAttribute("href").slice(1)));
  for (const place of [...VIEWS, ...runs, "/servers/fix", `/servers/${encodeURIComponent(MARKUP)}`, `/runs/${encodeURIComponent(MARKUP)}`]) {
    await go(page, place);
    await page.locator("main h1").first().waitFor({ state: "attached" });
    await page.evaluate(() => new Promise((drawn) => setTimeout(drawn, 50)));
    await isText(page, place);
  }
  await go(page, "/approvals");
  await page.locator(".approval", { hasText: "onerror" }).waitFor();
  await isText(page, "approvals");
  waits.kill();
  await close(page, ["404"]);
});

test("a description of a megabyte is shown in part, then whole, and fits a phone", async () => {
  const page = await open(browser, "/tools/fix.counter", PHONE);
  const more = page.getByRole("button", { name: /^Show all/ }).first();
  await more.waitFor();
  await fits(page, "tool");
  const before = await page.evaluate(() => document.body.textContent.length);
  assert.ok(before < 100_000, `${before} characters`);
  await more.click();
  await page.waitForFunction((least) => document.body.textContent.length > least, before);
  await isText(page, "whole");
  await close(page);
});
