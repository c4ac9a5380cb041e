const log = (await mux.files.read_text_file({ path: `${mux.input.dir}/logs/app.log` })).content;
const times = log.trim().split("\n").map((line) => new Date(line.split(" ")[0]));
const first = times[0], last = times[times.length - 1];
const seconds = (last.getTime() - first.getTime()) / 1000;
const format = new Intl.DateTimeFormat("en-US", { timeZone: "UTC", month: "long", day: "numeric", year: "numeric" });
const number = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });
const now = await mux.time.get_current_time({ timezone: "Europe/Paris" });
const year = new Date(now.datetime).getFullYear();
return {
  seconds,
  day: typeof format.format(first),
  amount: typeof number.format(1234.56),
  monday: new Date(Date.UTC(2026, 0, 5)).getUTCDay() === 1,
  plausible: year > 2000,
  iso: new Date(+first + 86_400_000).toISOString(),
};
