// mistake: line 4, column 35: the method is `toUpperCase`
// says: toUppercase, toUpperCase
const { day_of_week } = await mux.time.get_current_time({ timezone: "Europe/Berlin" });
const banner = `*** ${day_of_week.toUppercase()} ***`;
console.log(banner);
return banner;
