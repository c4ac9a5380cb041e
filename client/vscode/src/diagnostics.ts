// What `check` finds, as an editor marks it.

import type { Diagnostics, Fault } from "@muxd/client";

/** Lines and columns count from 0; columns in UTF-16 code units, as editors do. */
export interface Mark {
  line: number;
  start: number;
  end: number;
  message: string;
  code: string;
  severity: "error" | "warning" | "hint";
}

export function marks(found: Diagnostics, text: string): Mark[] {
  const lines = text.split(/\r?\n/);
  const all = [
    ...found.errors.map((fault) => mark(fault, "error", lines)),
    ...(found.warnings ?? []).map((fault) => mark(fault, "warning", lines)),
  ];
  if (found.unchecked !== undefined) {
    const message = `types were not checked: ${found.unchecked}`;
    all.push({ line: 0, start: 0, end: 0, message, code: "unchecked", severity: "hint" });
  }
  return all;
}

function mark(fault: Fault, severity: Mark["severity"], lines: string[]): Mark {
  const line = Math.min(Math.max((fault.line ?? 1) - 1, 0), Math.max(lines.length - 1, 0));
  const text = lines[line] ?? "";
  const start = Math.min(Math.max((fault.column ?? 1) - 1, 0), text.length);
  const message = fault.hint === undefined ? fault.message : `${fault.message}\n${fault.hint}`;
  return { line, start, end: start + length(text.slice(start)), message, code: fault.kind, severity };
}

/** To the end of the word that begins there, or one letter. */
function length(rest: string): number {
  const word = /^[\p{L}\p{N}_$]+/u.exec(rest)?.[0].length;
  return word ?? Math.min(rest.length, 1);
}
