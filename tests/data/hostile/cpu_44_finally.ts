// A stop is no exception: nothing catches it.
// args: --timeout 2s
// must: error timeout
// says: longer than its 2 s
try {
  for (;;);
} catch {
  for (;;);
} finally {
  for (;;);
}
