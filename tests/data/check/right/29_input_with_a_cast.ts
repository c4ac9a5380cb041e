type Input = { dir: string; repo: string; handle?: string; words?: readonly string[] };
const { dir, words = ["parser", "limits"] } = mux.input as Input;
const input = <T,>(key: keyof Input, fallback: T): T => ((mux.input as Record<string, unknown>)[key] as T | undefined) ?? fallback;
const text: string = (await mux.files.read_text_file({ path: `${dir}/notes.md` })).content;
const hits = words.map((word) => ({ word, hits: text.split(word).length - 1 }));
return { hits, some: hits.some(({ hits }) => hits > 1), retries: input("words", ["none"]).length };
