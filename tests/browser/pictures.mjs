// Takes the pictures of the page for docs/img. Started by `scripts/pictures`; the servers and their data are invented.

import { join } from "node:path";
import { writeFile } from "node:fs/promises";

import { begin, launch, live, mux, address, go } from "./page.mjs";

const { MUX_TEST_HOME, MUX_PICTURES } = process.env;
const HOME = "/home/ada/garden";

const PROGRAMS = {
  "garden-report.ts": `
const { issues } = await mux.issues.list({ state: "open" });
console.log(issues.length, "open issues");
const { notes } = await mux.notes.search({ query: "watering", order: "newest" });
for (let day = 0; day < 24; day++) await mux.notes.read({ path: notes[day % notes.length].path });
const details = await Promise.all(issues.map(({ number }) => mux.issues.get({ number })));
await mux.notes.list_folders({});
const weather = await mux.weather.forecast({ city: "Lisbon", days: 3 });
console.log("no rain: water the tomatoes");
return { weather, issues: issues.map(({ title }) => title), comments: details.length };
`,
  "clean-up.ts": `
const { notes } = await mux.notes.search({ query: "tomatoes" });
throw new Error("two notes have the same title");
`,
  "triage.ts": `
const { issues } = await mux.issues.list({ state: "open", label: "bug" });
await Promise.all(issues.slice(0, 2).map(({ number, title }) =>
  mux.issues.comment({ number, text: \`Thank you for the report of "\${title}". It will be fixed in the next version.\` })));
`,
};

for (const [name, text] of Object.entries(PROGRAMS)) await writeFile(join(MUX_TEST_HOME, name), text);
await mux("tools");
await mux("run", "--no-check", "-e", "// Which cities stay dry this week?\nreturn await Promise.all(['Lisbon', 'Oslo', 'Graz'].map((city) => mux.weather.forecast({ city })))");
await mux("run", "--no-check", "clean-up.ts");
await mux("run", "--no-check", "garden-report.ts");
const held = begin("run", "--no-check", "triage.ts");

const browser = await launch();
try {
  const context = await browser.newContext({ viewport: { width: 1180, height: 780 }, colorScheme: "light", locale: "en-GB" });
  const page = await context.newPage();
  // The home of this run has a random name.
  await page.addInitScript(
    ([from, to]) => {
      const parse = JSON.parse;
      JSON.parse = (text, ...more) => parse(text.replaceAll(from, to), ...more);
    },
    [MUX_TEST_HOME, HOME],
  );
  await page.goto(address);
  await live(page);
  const shot = async (name, ready) => {
    await ready.waitFor();
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    await page.screenshot({ path: join(MUX_PICTURES, `${name}.png`), animations: "disabled" });
  };
  await go(page, "/approvals");
  await page.locator(".approval").nth(1).waitFor();
  await shot("ui-approval", page.locator(".approval button.good:enabled").first());
  for (const { approval } of (await mux("approvals")).approvals) await mux("approve", approval);
  await held.ended;
  await go(page, "/");
  await page.locator(".approval").first().waitFor({ state: "detached" });
  await shot("ui-overview", page.locator("tr", { hasText: "triage.ts" }).getByText("succeeded"));
  await go(page, "/runs");
  await page.getByRole("link", { name: "garden-report.ts" }).click();
  await shot("ui-run", page.locator(".fold"));
  await go(page, "/tools/notes.search");
  await page.getByLabel(/^query/).fill("watering");
  await page.getByLabel(/^limit/).fill("5");
  await page.getByRole("button", { name: "Call tool" }).click();
  await shot("ui-tools", page.getByText("Result after"));
} finally {
  await browser.close();
}
