// ---- timeout_of_node
let timer: NodeJS.Timeout | undefined;
timer = setTimeout(() => {}, 1);
clearTimeout(timer);
return 1;
// ---- timer_return_type
let handle: ReturnType<typeof setTimeout> | null = null;
handle = setTimeout(() => {}, 1);
clearTimeout(handle);
return typeof handle;
// ---- fetcher_of_the_dom
type Fetcher = (url: string, init?: RequestInit) => Promise<Response>;
const f: Fetcher | null = null;
return f;
// ---- headers_of_the_dom
const headers: HeadersInit = { accept: "text/html" };
return Object.keys(headers);
// ---- buffer_as_a_parameter_type
function size(data: string | Buffer | Uint8Array): number {
  return data.length;
}
return size("abc");
// ---- signal_as_an_option
interface Options { signal?: AbortSignal; retries?: number }
async function run(o: Options = {}) {
  return o.retries ?? 3;
}
return await run();
// ---- element_in_a_generic
const nodes: Array<HTMLElement> = [];
return nodes.length;
// ---- type_that_is_declared_nowhere
const issues: Issue[] = (await mux.github.list_issues({ owner: "acme", repo: "app" })).issues;
return issues.length;
// ---- generic_type_that_is_declared_nowhere
const cache: LRUCache<string, number> = new Map();
cache.set("a", 1);
return cache.get("a");
// ---- cast_to_an_unknown_type
const config = JSON.parse('{"name":"x"}') as Config;
return config.name;
// ---- parameter_of_an_unknown_type
const describe = (issue: GitHubIssue, opts?: PrintOptions): string => `#${issue.number}`;
return describe({ number: 5 });
// ---- class_that_implements_an_unknown_interface
class Logger implements ILogger {
  lines: string[] = [];
  log(line: LogLine) {
    this.lines.push(line);
  }
}
const l = new Logger();
l.log("x");
return l.lines;
// ---- type_of_a_module
type Fs = typeof import("fs");
const fs: Fs | null = null;
return fs;
// ---- namespace_of_a_library
const el: React.ReactNode = null;
const props: JSX.Element[] = [];
return [el, props.length];
// ---- satisfies_that_is_not
const route = { from: [1, 2], to: [3, 4] } satisfies { from: number[]; to: string[] };
return route.to.length;
// ---- annotation_that_lies
const n: number = mux.input?.n ?? "seven";
return n.length;
// ---- annotation_of_a_result_that_lies
const r: { items: string[] } = await mux.tasks.stats({ project: "app" });
return Object.keys(r).length;
// ---- interface_narrower_than_the_result
interface Issue { number: number; title: string; body: string }
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
const list: Issue[] = issues;
return list.map((i) => i.title.length);
// ---- return_type_that_lies
function total(): string {
  return 5;
}
return total() + 1;
// ---- parameter_type_that_lies
const half = (n: string) => n / 2;
return half(8);
// ---- type_predicate
function isOpen(i): i is { state: "open"; number: number } {
  return i.state === "open";
}
const { issues } = await mux.github.list_issues({ owner: "acme", repo: "app" });
return issues.filter(isOpen).map((i) => i.number);
// ---- non_null_and_double_cast
const m = "a=1".match(/(\w)=(\d)/)!;
return Number((m[2] as unknown as string)!);
// ---- unused_type_parameters
function id<T, U extends keyof T>(x: T, k: U): T[U] {
  return x[k];
}
return id({ a: 1 }, "a");
// ---- enum_like_union
type State = "open" | "closed";
const next: Record<State, State> = { open: "closed", closed: "open" };
let s: State = "open";
for (let i = 0; i < 3; i++) s = next[s];
return s;
// ---- union_list_for_a_tool
type State = "open" | "closed";
const states: State[] = ["open", "closed"];
const out = [];
for (const state of states) out.push((await mux.github.list_issues({ owner: "acme", repo: "app", state })).total);
return out;
// ---- overloads
function len(x: string): number;
function len(x: any[]): number;
function len(x) {
  return x.length;
}
return len(mux.input ?? "abc");
