// The same moment in several places.
const zones = ["UTC", "Asia/Tokyo", "America/New_York"];
const converted = await Promise.all(
  zones.map((target_timezone) => mux.time.convert_time({ source_timezone: "UTC", time: "12:30", target_timezone })),
);
const now = await Promise.all(zones.map((timezone) => mux.time.get_current_time({ timezone })));
const instants = now.map(({ datetime }) => Date.parse(datetime));
return {
  tokyo: converted[1]!.target.datetime.slice(11, 16),
  difference: converted[1]!.time_difference,
  zones: now.map(({ timezone }) => timezone),
  // One moment, whatever the zone: the calls lie far less than an hour apart.
  oneMoment: Math.max(...instants) - Math.min(...instants) < 3_600_000,
  unknown: await mux.time.get_current_time({ timezone: "Mars/Base" }).catch((error) => error.kind),
};
