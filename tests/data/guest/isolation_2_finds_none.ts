return {
  leftover: typeof (globalThis as any).leftover,
  polluted: ({} as any).polluted === undefined,
  map: [1].map((n) => n + 1),
  stringify: JSON.stringify([1]),
};
