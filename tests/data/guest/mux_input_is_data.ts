// input: {"__proto__": {"polluted": true}, "constructor": 1}
return { keys: Object.keys(mux.input), polluted: ({} as any).polluted === undefined };
