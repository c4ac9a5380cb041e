// A server in a sandbox.

import { after, before, test } from "node:test";

import { close, launch, open, says } from "./page.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

test("a server shows what surrounds it and what was denied", async () => {
  const page = await open(browser, "/servers/box");
  await says(page, "network: none");
  await says(page, "denied: ");
  await says(page, "private/a.txt, which 2 errors name");
  await close(page);
});
