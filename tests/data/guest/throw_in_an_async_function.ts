async function fetchAll(ids: number[]) {
  const found = [];
  for (const id of ids) found.push(await one(id));
  return found;
}
const one = async (id: number) => {
  const text = await mux.fix.echo({ text: String(id) });
  return (text as any).missing.deep;
};
return await fetchAll([1, 2]);
