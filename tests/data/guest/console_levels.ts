console.debug("debug");
console.log("log");
console.info("info");
console.warn("warn");
console.error("error");
console.timeEnd("never begun");
return typeof console.time("t");
