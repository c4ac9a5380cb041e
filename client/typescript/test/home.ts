// What the tests stand on: a home with a configuration and fixture servers, which `tests/it/editors.rs` prepares.

import { strict as assert } from "node:assert";

import { Mux, type MuxError, type MuxOptions } from "../src/index.js";

/** A variable that whoever starts the tests has set. */
export function told(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: these tests are started by \`cargo nextest run -p mux-tests\``);
  return value;
}

/** A client of this test's own daemon. */
export function client(options: Partial<MuxOptions> = {}): Mux {
  return new Mux({ name: "test", version: "0", home: told("MUX_TEST_HOME"), daemon: told("MUX_TEST_DAEMON"), ...options });
}

/** For `assert.rejects`: an error of this kind that says all of this. */
export function failure(kind: string, ...parts: string[]): (error: unknown) => true {
  return (error) => {
    const { name, message, ...rest } = error as MuxError;
    assert.equal(name, "MuxError", String(error));
    assert.equal(rest.kind, kind, message);
    for (const part of parts) assert.ok(message.includes(part), message);
    return true;
  };
}
