type Id = string & { readonly brand: unique symbol };
interface Shape<T extends object = {}> extends Partial<Record<string, T>> { readonly name: string; sides?: number }
declare const nowhere: number;
declare function missing(a: string): void;
abstract class Base<T> {
  declare readonly phantom: T;
  protected abstract area(scale?: number): number;
  public constructor(readonly_: T) { void readonly_; }
  static of<T>(this: void, value: T): T { return value!; }
}
class Square extends Base<number> implements Shape {
  [key: string]: any;
  name!: string;
  private side: number = 2;
  override area(scale: number = 1): number { return this.side ** 2 * scale; }
}
function pick(key: "a"): number;
function pick(key: "b"): string;
function pick(key: string): number | string { return key === "a" ? 1 : "two"; }
const square = new Square(1) as Square;
const config = { depth: { limit: 3 } } as const satisfies { depth: { limit: number } };
let later!: string;
later = <T,>(x: T): T => x, later = "assigned";
const maybe: Shape | undefined = undefined;
const id = "i" as unknown as Id;
for (const [key, value] of Object.entries<number>({ a: 1 })) console.log(key, value as number);
const tuple: [first: number, second?: string] = [1];
const is = (x: unknown): x is string => typeof x === "string";
function assertString(x: unknown): asserts x is string { if (!is(x)) throw new TypeError("no"); }
assertString(id);
return {
  area: square.area(2),
  name: square.name,
  picked: [pick("a"), pick("b")],
  limit: config.depth.limit!,
  later,
  maybe: maybe?.name ?? "nothing",
  of: Base.of<number>(5),
  tuple,
  typeof: typeof nowhere,
  using: ((): string => { using _ = { [Symbol.dispose]() { console.log("disposed"); } }; return "ok"; })(),
} satisfies object;
