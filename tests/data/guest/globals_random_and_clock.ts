const [a, b] = [crypto.randomUUID(), crypto.randomUUID()];
const started = performance.now();
const filled = crypto.getRandomValues(new Uint8Array(64));
return {
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(a) && a !== b,
  filled: filled.some((byte) => byte !== 0),
  forward: performance.now() >= started && started >= 0,
  clock: Math.abs(Date.now() - performance.timeOrigin) < 86_400_000,
  random: Math.random() !== Math.random(),
  frozen: Object.isFrozen(crypto) && Object.isFrozen(performance),
};
