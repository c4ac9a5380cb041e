console.log("before");
console.warn("still before");
throw new Error("after");
