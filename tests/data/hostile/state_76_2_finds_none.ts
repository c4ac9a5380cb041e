// must: result [false,"","function",true]
return ["left" in globalThis || "left" in {}, RegExp.lastMatch ?? "", typeof [].map, String(Promise.prototype.then).includes("native code")];
