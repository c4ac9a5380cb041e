// A login: its address is shown before it is opened, and its end is told.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { close, launch, mux, open, says } from "./page.mjs";

let browser;
before(async () => {
  browser = await launch();
  await mux("call", "ours.echo", "text=x");
});
after(() => browser.close());

test("a server that requires a login is signed in to from its page", async () => {
  const page = await open(browser, "/servers/ours");
  await says(page, "sign-in required");
  await page.getByRole("button", { name: "Sign in to ours" }).click();
  const link = page.getByRole("link", { name: "Open the sign-in page" });
  const address = new URL(await link.getAttribute("href"));
  assert.match(address.protocol, /^https?:$/);
  await says(page, address.host);
  assert.equal(await link.getAttribute("rel"), "noopener noreferrer");
  const [signIn] = await Promise.all([page.context().waitForEvent("page"), link.click()]);
  await signIn.waitForLoadState();
  await says(page, /Signed in.*: \d+ tools/);
  assert.equal((await mux("servers"))[0].auth, "signed_in");
  await close(page);
});
