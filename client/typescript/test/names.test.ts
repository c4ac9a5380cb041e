// Paths of tools as programs write them: the cases of `sandbox/typegen/src/names.rs`.

import { strict as assert } from "node:assert";
import { test } from "node:test";

import { programPath } from "../src/names.js";

test("a path is spelled as programs write it", () => {
  for (const [path, spelled] of [
    ["files.read_text_file", "files.read_text_file"],
    ["all.trigger-long-running-operation", "all.trigger_long_running_operation"],
    ["my-server.repos.list-all", "my_server.repos.list_all"],
    ["a.2fa then", "a._2fa_then"],
    ["a.then", "a.then_"],
    ["a..b", "a._b"],
    ["a.gr\u00f6\u00dfe", "a.gr_e"],
    ["my-server.resources/read", "my-server.resources/read"],
    ["my-server", "my-server"],
    ["a.", "a."],
  ] as const) {
    assert.equal(programPath(path), spelled);
  }
});
