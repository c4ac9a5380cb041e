// Nothing calls any more: once the server is done with what had reached it before the end of the last
// run, its counter stands still.
// must: result 0
const count = async () => {
  const answer = await mux.fix.counter({ key: "late", by: 0 });
  return Number(answer.value ?? answer);
};
const rest = () => new Promise((resolve) => setTimeout(resolve, 50));
let first = await count();
for (let looks = 0; looks < 20; looks++) {
  await rest();
  const next = await count();
  if (next === first) break;
  first = next;
}
await rest();
return (await count()) - first;
