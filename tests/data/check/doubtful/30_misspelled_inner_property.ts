// mistake: line 8, column 29: the property is `datetime`
// says: date_time, datetime
const result = await mux.time.convert_time({
  source_timezone: "Europe/Paris",
  time: "09:15",
  target_timezone: "Asia/Tokyo",
});
const clock = result.target.date_time.slice(11, 16);
return { clock, difference: result.time_difference };
