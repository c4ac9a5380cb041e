// Arrays and promises that come back are plain ones.
// must: result [true,true,0]
// must on quickjs: result [true,true,1]
let asked = 0;
class Mine extends Array {
  static get [Symbol.species]() {
    asked++;
    return Mine;
  }
}
Object.defineProperty(Array.prototype, "constructor", { value: Mine, configurable: true, writable: true });
const call = mux.fix.echo_json({ value: [1, 2] });
const plainPromise = Object.getPrototypeOf(call) === Promise.prototype;
const { value } = await call;
Object.defineProperty(Array.prototype, "constructor", { value: Array, configurable: true, writable: true });
return [plainPromise, Object.getPrototypeOf(value) === Array.prototype, asked];
