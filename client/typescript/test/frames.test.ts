// Frames on a stream, however it is cut.

import { strict as assert } from "node:assert";
import { test } from "node:test";

import { FrameReader, MAX_FRAME, frame } from "../src/frames.js";

test("frames are whole however the stream is cut", () => {
  const texts = ["", "{}", "grüße ✓", "x".repeat(100_000)];
  const stream = Buffer.concat(texts.map(frame));
  for (const size of [1, 3, 4, 5, 1000, stream.length]) {
    const reader = new FrameReader();
    const found: string[] = [];
    for (let at = 0; at < stream.length; at += size) found.push(...reader.push(stream.subarray(at, at + size)));
    assert.deepEqual(found, texts, `in pieces of ${size}`);
  }
});

test("a length over the limit is refused before any of it is kept", () => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(MAX_FRAME + 1);
  assert.throws(() => [...new FrameReader().push(length)], RangeError);
  assert.throws(() => frame("x".repeat(MAX_FRAME + 1)), RangeError);
});
