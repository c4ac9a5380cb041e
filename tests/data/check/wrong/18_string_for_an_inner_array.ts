// mistake: line 6, column 28: `contents` is an array of strings
// says: string, string[]
const today = await mux.time.get_current_time({ timezone: "UTC" });
await mux.memory.add_observations({
  observations: [
    { entityName: "diary", contents: `it was ${today.day_of_week}` },
  ],
});
return today.day_of_week;
