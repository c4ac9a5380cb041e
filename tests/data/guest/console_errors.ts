function fail() {
  throw new TypeError("why", { cause: new RangeError("because", { cause: "root" }) });
}
try { fail(); } catch (error) { console.error("caught", error); }
console.log({ error: new Error("inside an object") }.error.message);
await Promise.any([Promise.reject(new Error("one")), Promise.reject(2)]).catch((error) => console.log(error));
await mux.fix.fail({ message: "from a tool" }).catch((error) => console.log(error));
