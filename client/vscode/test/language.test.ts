// Completion and hover for `mux.*`, by TypeScript's own server on the generated project.

import { strict as assert } from "node:assert";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";

import { Mux } from "@muxd/client";

import { describe } from "../src/project.js";
import { TypeScriptServer } from "./tsserver.js";

function told(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: these tests are started by \`cargo nextest run -p mux-tests\``);
  return value;
}

const home = told("MUX_TEST_HOME");
const mux = new Mux({ name: "vscode", version: "0", home, daemon: told("MUX_TEST_DAEMON") });
after(() => mux.close());

const PROGRAM = `const { sum } = await mux.fix.add({ a: 1, b: 2 });
console.log(mux.input);
mux.fix.
missing;
return sum;
`;

test("a program is completed, explained, and may return", async (t) => {
  const folder = join(home, "scripts");
  await mkdir(folder);
  await describe(folder, await mux.types());
  const file = join(folder, "x.mux.ts");
  await writeFile(file, PROGRAM);
  const server = new TypeScriptServer(told("MUX_TEST_TSSERVER"), { from: told("MUX_TEST_PLUGINS"), names: ["mux-typescript-plugin"] });
  t.after(() => server.close());
  server.tell("open", { file, fileContent: PROGRAM, scriptKindName: "TS" });

  const info = await server.ask<{ configFileName: string }>("projectInfo", { file, needFileNameList: false });
  assert.equal(info.configFileName, join(folder, "tsconfig.json"));
  const completions = await server.ask<{ entries: { name: string }[] }>("completionInfo", { file, line: 3, offset: 9 });
  const names = completions.entries.map((entry) => entry.name);
  assert.ok(names.includes("add") && names.includes("echo_json"), names.join());
  const hover = await server.ask<{ displayString: string; documentation: string }>("quickinfo", { file, line: 1, offset: 32 });
  assert.match(hover.displayString, /add\(args: /);
  assert.match(JSON.stringify(hover.documentation), /Adds two numbers/);

  server.tell("change", { file, line: 3, offset: 1, endLine: 3, endOffset: 9, insertString: "" });
  const diagnostics = async () => {
    const found = await Promise.all(
      ["syntacticDiagnosticsSync", "semanticDiagnosticsSync"].map((command) =>
        server.ask<{ code: number; text: string }[]>(command, { file }),
      ),
    );
    return found.flat().map(({ code, text }) => `${code} ${text}`);
  };
  assert.deepEqual(await diagnostics(), ["2304 Cannot find name 'missing'."]);
});

test("any other file is as it was", async (t) => {
  const file = join(home, "plain.ts");
  await writeFile(file, "return 1;\nexport {};\n");
  const server = new TypeScriptServer(told("MUX_TEST_TSSERVER"), { from: told("MUX_TEST_PLUGINS"), names: ["mux-typescript-plugin"] });
  t.after(() => server.close());
  server.tell("open", { file });
  const found = await server.ask<{ code: number }[]>("semanticDiagnosticsSync", { file });
  assert.deepEqual(found.map(({ code }) => code), [1108]);
});
