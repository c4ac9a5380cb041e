// must: result "undefined"
return typeof WebAssembly;
