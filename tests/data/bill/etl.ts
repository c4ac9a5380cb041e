const { content } = await mux.files.read_text_file({ path: mux.input.path });
const sums: Record<string, number> = {};
const orders: Record<string, string[]> = {};
for (const row of content.trim().split("\n").slice(1)) {
  const [id, customer, item, amount] = row.split(",");
  sums[customer] = (sums[customer] ?? 0) + Number(amount);
  (orders[customer] ??= []).push(`order ${id}: ${item}, ${amount}`);
}
const entities = Object.entries(orders).map(([name, observations]) => ({ name, entityType: "customer", observations }));
await mux.memory.create_entities({ entities });
return sums;
