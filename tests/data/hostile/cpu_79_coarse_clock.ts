// No clock is finer than 0.1 ms, and none is made of shared memory.
// must: result [true,"undefined"]
let finest = Infinity;
let last = performance.now();
for (let seen = 0; seen < 50; ) {
  const now = performance.now();
  if (now === last) continue;
  finest = Math.min(finest, now - last);
  last = now;
  seen++;
}
return [finest > 0.099, typeof SharedArrayBuffer];
