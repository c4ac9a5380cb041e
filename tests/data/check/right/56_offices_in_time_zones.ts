const offices = new Map([["Berlin", "Europe/Berlin"], ["Tokyo", "Asia/Tokyo"], ["New York", "America/New_York"]]);
const meeting = { source_timezone: "Europe/Berlin", time: "15:00" };
const rows = [];
for (const [office, target_timezone] of offices) {
  const { source, target, time_difference } = await mux.time.convert_time({ ...meeting, target_timezone });
  const hour = +target.datetime.substring(11, 13);
  rows.push({ office, hour, difference: parseFloat(time_difference), day: target.day_of_week, ok: hour >= 8 && hour < 18, from: source.timezone });
}
const late = rows.filter((r) => !r.ok).map((r) => r.office);
const best = rows.toSorted((a, b) => a.difference - b.difference).at(0)?.office;
return { late, best, berlin: rows[0].difference, sameZone: rows.every(({ from }) => from === meeting.source_timezone) };
