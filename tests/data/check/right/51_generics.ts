type Result<T, E = Error> = { ok: true; value: T } | { ok: false; error: E };

async function attempt<T>(action: () => Promise<T>): Promise<Result<T>> {
  try {
    return { ok: true, value: await action() };
  } catch (error) {
    return { ok: false, error: error as Error };
  }
}

function groupBy<T, K extends string>(items: readonly T[], key: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group) group.push(item);
    else groups.set(key(item), [item]);
  }
  return groups;
}

const names = ["notes.md", "config.json", "none.txt"];
const results = await Promise.all(names.map((n) => attempt(() => mux.files.read_text_file({ path: `${mux.input.dir}/${n}` }))));
const grouped = groupBy(results, (r) => (r.ok ? "good" : "bad"));
const lengths = results.flatMap((r) => (r.ok ? [r.value.content.length] : []));
const first = results.find((r): r is Extract<typeof r, { ok: false }> => !r.ok);
return { good: grouped.get("good")?.length, bad: grouped.get("bad")?.length, lengths: lengths.length, failed: first?.error.name };
