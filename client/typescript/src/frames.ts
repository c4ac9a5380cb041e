// Frames on a stream: a length of four bytes, big-endian, and so many bytes of JSON.
//
// Invariant: a frame's length is looked at before any of it is kept.

/** The maximum length of a frame, in bytes. */
export const MAX_FRAME = 16 * 1024 * 1024;

/** Text with its length before it. Throws `RangeError` if it is too long for a frame. */
export function frame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  if (length > MAX_FRAME) throw new RangeError(`a frame of ${length} bytes is over the limit of ${MAX_FRAME}`);
  const bytes = Buffer.allocUnsafe(4 + length);
  bytes.writeUInt32BE(length, 0);
  bytes.write(text, 4);
  return bytes;
}

/** Takes what arrives, in pieces of any size, and gives whole frames. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #have = 0;

  /** The texts of the frames that are complete now. Throws `RangeError` at a length over the limit. */
  *push(piece: Buffer): Generator<string> {
    this.#pieces.push(piece);
    this.#have += piece.length;
    while (this.#have >= 4) {
      const length = this.#peek(4).readUInt32BE(0);
      if (length > MAX_FRAME) throw new RangeError(`a frame of ${length} bytes is over the limit of ${MAX_FRAME}`);
      if (this.#have < 4 + length) return;
      const whole = this.#peek(4 + length);
      const rest = whole.subarray(4 + length);
      this.#pieces = rest.length > 0 ? [rest] : [];
      this.#have = rest.length;
      yield whole.toString("utf8", 4, 4 + length);
    }
  }

  /** At least so many bytes in one piece, which then stands first. A long frame is put together once. */
  #peek(bytes: number): Buffer {
    const first = this.#pieces[0];
    if (first !== undefined && first.length >= bytes) return first;
    const all = Buffer.concat(this.#pieces, this.#have);
    this.#pieces = [all];
    return all;
  }
}
