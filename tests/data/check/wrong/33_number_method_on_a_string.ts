// mistake: line 4, column 24: `datetime` is a string
// says: toFixed, string
const { datetime, timezone } = await mux.time.get_current_time({ timezone: "UTC" });
const stamp = datetime.toFixed(0);
console.log(`now in ${timezone}: ${stamp}`);
return stamp;
