// mistake: line 8, column 17: `time_difference` is a string such as "+9.0h"
// says: arithmetic
const { time_difference, target } = await mux.time.convert_time({
  source_timezone: "UTC",
  time: "12:00",
  target_timezone: "Asia/Tokyo",
});
const minutes = time_difference * 60;
return { minutes, clock: target.datetime };
