// mistake: line 6, column 52: the argument is `source_timezone`
// says: sourceTimezone, source_timezone
const zones = ["Asia/Tokyo", "America/New_York"];
const meetings = [];
for (const zone of zones) {
  const { target } = await mux.time.convert_time({ sourceTimezone: "UTC", time: "15:00", target_timezone: zone });
  meetings.push(`${zone}: ${target.datetime}`);
}
return meetings;
