// mistake: line 10, column 7: `day` is missing
// says: day, Meeting
interface Meeting {
  office: string;
  time: string;
  day: string;
}

const { target } = await mux.time.convert_time({ source_timezone: "UTC", time: "10:00", target_timezone: "Asia/Tokyo" });
const meeting: Meeting = { office: "Tokyo", time: target.datetime.slice(11, 16) };
return meeting;
