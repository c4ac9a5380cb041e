// An empty pool, the doors of the page, and how it is let in.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { PHONE, VIEWS, address, close, fits, go, launch, live, open, origin, says, watch } from "./page.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

test("a pool without servers and runs says what to do", async () => {
  const page = await open(browser);
  await says(page, "No servers are configured");
  await says(page, "No program has run yet");
  await says(page, /muxd \d/);
  for (const [view, words] of [["/runs", "No program has run yet"], ["/latency", "No tool was called"], ["/tools", "There are no tools"], ["/approvals", "No calls are waiting for your approval"], ["/servers/gone", "no server with this name"], ["/runs/gone-1", "there is no run"]]) {
    await go(page, view);
    await says(page, words);
  }
  // An unknown path shows the first page.
  await go(page, "/nowhere");
  await says(page, "No servers are configured");
  await close(page);
});

test("every view fits a phone", async () => {
  const page = await open(browser, "/", PHONE);
  for (const view of VIEWS) {
    await go(page, view);
    await page.locator("main h1").first().waitFor({ state: "attached" });
    await fits(page, view);
  }
  await close(page);
});

test("the address loses the token, a reload and a tab opened from here keep it", async () => {
  const page = await open(browser);
  assert.ok(!page.url().includes("token"), page.url());
  await page.reload();
  await live(page);
  // Like a click with Ctrl: a new tab, which inherits nothing.
  const other = await page.context().newPage();
  const problems = watch(other);
  await other.goto(`${origin}/#/runs`);
  await live(other);
  assert.deepEqual(problems, []);
  assert.equal((await page.context().cookies()).length, 0);
  await close(page);
});

test("without the token, or with a wrong one, nothing is told", async () => {
  for (const from of [`${origin}/`, `${origin}/#token=wrong`, `${origin}/#code=wrong`]) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(from);
    await says(page, "This page has no access");
    const text = await page.locator("body").innerText();
    assert.ok(!text.includes("process"), text);
    await context.close();
  }
});

test("another site gets nothing, though the browser is the same", async () => {
  const page = await open(browser);
  const context = page.context();
  const stranger = await context.newPage();
  await stranger.route("http://evil.example/", (route) => route.fulfill({ body: "<p>evil</p>", contentType: "text/html" }));
  await stranger.goto("http://evil.example/");
  const token = new URL(address).hash.slice("#token=".length);
  const tried = await stranger.evaluate(
    async ([there, said]) => {
      const results = [];
      for (const [method, path] of [["GET", "/api/stream"], ["POST", "/api/decide"], ["GET", "/"]]) {
        const headers = { Authorization: `Bearer ${said}` };
        await fetch(there + path, { method, headers }).then(() => results.push("read"), () => results.push("refused"));
      }
      const frame = document.createElement("iframe");
      frame.src = there;
      document.body.append(frame);
      await new Promise((loaded) => (frame.onload = loaded));
      return results;
    },
    [origin, token],
  );
  assert.deepEqual(tried, ["refused", "refused", "refused"]);
  // The frame contains the browser's error page.
  const framed = stranger.frames().find((frame) => frame !== stranger.mainFrame());
  assert.ok(!framed.url().startsWith(origin), framed.url());
  await close(page);
});
