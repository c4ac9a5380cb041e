// The processes of one part of a measurement, wherever they have gone, and their memory.

import { readFileSync, readdirSync } from "node:fs";

const MARK = "MUX_BENCH_CASE";

export const marked = (id) => ({ [MARK]: id });

// The processes with the mark in their environment, and all their descendants.
export function family(id) {
  const parents = new Map();
  const members = new Set();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      parents.set(pid, readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) \S /, "").split(" ")[0]);
      if (readFileSync(`/proc/${pid}/environ`, "utf8").includes(`${MARK}=${id}\0`)) members.add(pid);
    } catch {
      // The process has ended.
    }
  }
  for (let grown = true; grown; ) {
    grown = false;
    for (const [pid, parent] of parents) {
      if (members.has(parent) && !members.has(pid)) grown = Boolean(members.add(pid));
    }
  }
  return [...members];
}

const sum = (id, bytes) =>
  family(id).reduce((total, pid) => {
    try {
      return total + bytes(pid);
    } catch {
      return total;
    }
  }, 0);

export const resident = (id) => sum(id, (pid) => Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096);

const TICKS = 100;

// In seconds, since they began.
export const computed = (id) =>
  sum(id, (pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) \S /, "").split(" ");
    return (Number(fields[10]) + Number(fields[11])) / TICKS;
  });

// Of a page that several processes share, each has its part.
export const proportional = (id) => sum(id, (pid) => Number(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8").match(/^Pss: +(\d+)/m)[1]) * 1024);

export function killAll(id, matches = () => true) {
  let killed = 0;
  for (const pid of family(id)) {
    try {
      if (!matches(readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " "))) continue;
      process.kill(Number(pid), "SIGKILL");
      killed++;
    } catch {
      // The process has ended.
    }
  }
  return killed;
}
