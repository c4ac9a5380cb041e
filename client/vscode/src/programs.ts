// Which files are programs.

/** What programs end with. */
export const PROGRAM = ".mux.ts";

export function isProgram(file: string): boolean {
  return file.endsWith(PROGRAM);
}

/** What a user typed as `mux.input`; nothing at all is `null`. Throws `SyntaxError` if it is no JSON. */
export function input(text: string): unknown {
  return text.trim() === "" ? null : JSON.parse(text);
}

/** A result as a user reads it. */
export function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
}
