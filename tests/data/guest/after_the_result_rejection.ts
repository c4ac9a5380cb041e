const error = new Error("left behind");
Object.defineProperty(error, "stack", { get() { for (;;); } });
Promise.reject(error);
Promise.reject(new Proxy(new Error("a proxy"), { get() { for (;;); }, getPrototypeOf() { for (;;); } }));
return 1;
