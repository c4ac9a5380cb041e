// mistake: line 6, column 53: `humidity` is a number
// says: padStart, number
const locations = ["New York", "Chicago"] as const;
for (const location of locations) {
  const weather = await mux.everything.get_structured_content({ location });
  console.log(location.padEnd(12), weather.humidity.padStart(3), weather.conditions);
}
