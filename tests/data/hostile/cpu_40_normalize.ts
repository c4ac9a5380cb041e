// args: --timeout 2s
// must: error timeout
// says: longer than its 2 s
const s = "a\u0301\u0327".repeat(1e6);
for (;;) s.normalize("NFC").localeCompare(s.normalize("NFD"));
