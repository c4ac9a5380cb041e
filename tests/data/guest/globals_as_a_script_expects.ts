const names = [
  "console", "setTimeout", "clearTimeout", "setInterval", "clearInterval", "queueMicrotask", "structuredClone", "URL",
  "URLSearchParams", "TextEncoder", "TextDecoder", "crypto", "atob", "btoa", "performance", "Intl", "Promise", "WeakRef",
  "FinalizationRegistry", "BigInt", "Proxy", "Reflect", "Iterator",
];
const missing = names.filter((name) => !(name in globalThis));
const modern = [
  Object.groupBy([1, 2, 3], (n) => (n % 2 ? "odd" : "even")).odd!.length,
  [3, 1, 2].toSorted().at(-1),
  new Set([1, 2]).union(new Set([3])).size,
  "a-b".replaceAll("-", "+"),
  [1, 2, 3].values().map((n) => n * 2).toArray(),
  new Intl.NumberFormat("en").format(1234.5),
  /(?<year>\d{4})/v.exec("in 2026")!.groups!.year,
];
return { missing, modern };
