// must: result ["undefined","undefined"]
return [typeof Atomics, typeof SharedArrayBuffer];
