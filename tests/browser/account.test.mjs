// A server that is used with an account.

import { after, before, test } from "node:test";

import { close, launch, open, says } from "./page.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

test("a server shows who has signed in, and with which account", async () => {
  const page = await open(browser, "/servers/ours");
  await says(page, "Signed in as");
  await says(page, "ada@example.com");
  await says(page, "work");
  await close(page);
});

test("two accounts at one address show two users", async () => {
  const page = await open(browser, "/servers/mine");
  await says(page, "bob@example.com");
  await close(page);
});
