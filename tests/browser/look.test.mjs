// What everybody needs to read and use the page: contrast, the keyboard, 400 pixels, a detail that stays in sight.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { VIEWS, begin, close, fits, go, launch, mux, open, run, says } from "./page.mjs";

let browser;
let held;
before(async () => {
  browser = await launch();
  await mux("tools");
  await run("for (let n = 0; n < 30; n++) await mux.fix.echo({ text: 'x' }); try { await mux.fix.fail({ message: 'no' }) } catch {}; await mux.fix.sleep({ ms: 1300 }); console.log(1); console.error(2)");
  await run("// Fails after a while\nawait mux.fix.sleep({ ms: 700 }); throw new Error('nothing was found')");
  held = begin("run", "--no-check", "-e", "return await mux.fix.counter({ key: 'visits' })");
});
after(async () => {
  held.kill();
  await browser.close();
});

const PLACES = [...VIEWS, "/servers/dead", "/servers/fix", "/tools/fix.counter", "RUN"];

async function visit(page, place) {
  if (place === "RUN") {
    await go(page, "/runs");
    await page.locator("td.main a").last().click();
    await page.locator(".fold").waitFor();
  } else {
    await go(page, place);
    await page.locator("main h1").first().waitFor({ state: "attached" });
    if (place === "/doctor") await page.locator(".finding").first().waitFor();
    if (place.startsWith("/tools/")) await page.locator(".field").first().waitFor();
  }
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
}

// Text with less than 4.5:1, and marks, bars and borders of controls with less than 3:1, against what is behind them.
function tooFaint() {
  const parse = (color) => {
    const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
    return color.startsWith("rgb") ? { r, g, b, a } : undefined;
  };
  const over = (top, below) => ({ r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a), b: top.b * top.a + below.b * (1 - top.a), a: 1 });
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.a > 0) layers.push(color);
      if (color.a === 1) break;
    }
    return layers.reduceRight((below, top) => over(top, below), { r: 255, g: 255, b: 255, a: 1 });
  };
  const light = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ratio = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const found = new Set();
  const check = (element, what, color, below, least) => {
    const now = ratio(over(color, below), below);
    if (now < least) found.add(`${what} ${element.tagName}.${element.className}: ${now.toFixed(2)}`);
  };
  const shown = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest(":disabled");
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    const element = node.parentElement;
    if (node.data.trim() && shown(element)) check(element, "text", parse(getComputedStyle(element).color), behind(element), 4.5);
  }
  for (const element of document.querySelectorAll(".state i, .bar, .marks i, .range .most, .range .half")) {
    const color = parse(getComputedStyle(element).backgroundColor);
    // Stripes have their color in the image; it is that of a state's mark.
    if (shown(element) && color.a > 0 && !element.getAnimations().length) check(element, "mark", color, behind(element.parentElement), 3);
  }
  for (const element of document.querySelectorAll("button:not(.plain):not(.link-like), input[type=search], textarea, select")) {
    const style = getComputedStyle(element);
    if (!shown(element) || style.borderTopWidth === "0px") continue;
    const [edge, fill] = [parse(style.borderTopColor), parse(style.backgroundColor)];
    const below = behind(element.parentElement);
    if (ratio(over(fill, below), below) < 3) check(element, "edge", edge, below, 3);
  }
  return [...found];
}

for (const scheme of ["light", "dark"]) {
  test(`text and marks have contrast in the ${scheme} scheme`, async () => {
    const page = await open(browser, "/", { scheme });
    await page.locator(".approval").first().waitFor();
    for (const place of PLACES) {
      await visit(page, place);
      // Buttons rest, and so are exempt, while the list of approvals has just changed.
      if (place === "/approvals") await page.locator(".approval button:enabled").first().waitFor();
      assert.deepEqual(await page.evaluate(tooFaint), [], place);
    }
    await visit(page, "/approvals");
    await page.getByRole("button", { name: "Always" }).click();
    await page.locator(".confirm").waitFor();
    assert.deepEqual(await page.evaluate(tooFaint), [], "confirm");
    await close(page);
  });
}

test("at 400 pixels nothing overflows, names are whole words, and marks of the axis stand apart", async () => {
  const page = await open(browser, "/", { wide: 400, high: 800 });
  for (const place of PLACES) {
    await visit(page, place);
    await fits(page, place);
    const broken = await page.evaluate(() =>
      [...document.querySelectorAll("td.name a, td.main a, .state, th")]
        .filter((element) => element.checkVisibility() && getComputedStyle(element).whiteSpace === "nowrap")
        .filter((element) => element.getClientRects().length > 1)
        .map((element) => element.textContent),
    );
    assert.deepEqual(broken, [], place);
  }
  await visit(page, "/servers");
  // A long name is on one line, and whole.
  const name = page.getByRole("link", { name: "everything_and_more" });
  const [height, line, cut] = await name.evaluate((link) => [link.clientHeight, parseFloat(getComputedStyle(link).lineHeight), link.scrollWidth > link.clientWidth]);
  assert.ok(height < 1.5 * line && !cut, `${height} ${line} ${cut}`);
  await visit(page, "RUN");
  const overlaps = await page.evaluate(() => {
    const boxes = [...document.querySelectorAll(".tick small, .axis .took")].map((label) => label.getBoundingClientRect());
    return boxes.filter((box, at) => at > 0 && box.left < boxes[at - 1].right).length;
  });
  assert.equal(overlaps, 0);
  await close(page);
});

test("a tool that is selected far down the list is shown in sight", async () => {
  const page = await open(browser, "/tools?server=everything_and_more");
  await page.getByRole("button", { name: /^Show more/ }).click();
  const link = page.locator(".hits a").nth(70);
  await link.scrollIntoViewIfNeeded();
  await link.click();
  await page.getByRole("button", { name: "Call tool" }).waitFor();
  const top = await page.locator(".tool h1").evaluate((title) => title.getBoundingClientRect().top);
  const scrolled = await page.evaluate(() => scrollY);
  assert.ok(scrolled > 500 && top > 0 && top < 300, `${scrolled} ${top}`);
  await close(page);
});

// Presses Tab until the focus is on an element with this name.
async function tabTo(page, name) {
  for (let presses = 0; presses < 150; presses += 1) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate(() => {
      const element = document.activeElement;
      const label = element.labels?.[0]?.textContent ?? element.getAttribute("aria-label") ?? element.textContent;
      return { label, outlined: getComputedStyle(element).outlineStyle !== "none" };
    });
    if (found.label.trim().startsWith(name)) {
      assert.ok(found.outlined, `the focus on ${name} is not visible`);
      return;
    }
  }
  assert.fail(`Tab does not lead to ${name}`);
}

test("a tool is found, called and approved by keyboard alone", async () => {
  const page = await open(browser, "/");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
  await tabTo(page, "Tools");
  await page.keyboard.press("Enter");
  await tabTo(page, "Find a tool");
  await page.keyboard.type("fix.counter");
  await page.getByRole("link", { name: /^fix\.counter/ }).waitFor();
  await tabTo(page, "fix.counter");
  await page.keyboard.press("Enter");
  await page.locator(".field").first().waitFor();
  await tabTo(page, "key");
  await page.keyboard.type("keyboard");
  await tabTo(page, "Call tool");
  await page.keyboard.press("Enter");
  await page.locator(".call .approval button:enabled", { hasText: "Allow once" }).first().waitFor();
  await tabTo(page, "Allow once");
  await page.keyboard.press("Enter");
  await says(page, "Result after");
  await close(page);
});

test("every control has a name for a screen reader", async () => {
  const page = await open(browser, "/");
  for (const place of PLACES) {
    await visit(page, place);
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll("button, a[href], input, select, textarea")]
        .filter((element) => element.checkVisibility())
        .filter((element) => !(element.getAttribute("aria-label") || element.labels?.[0]?.textContent || element.textContent.trim()))
        .map((element) => element.outerHTML),
    );
    assert.deepEqual(nameless, [], place);
    assert.equal(await page.locator("h1").count(), 1, place);
  }
  await close(page);
});
