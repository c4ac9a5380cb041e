const { dir, limit = 2, ...others } = mux.input;
const { content: raw } = await mux.files.read_text_file({ path: `${dir}/people.json` });
const [first, , third, ...rest] = JSON.parse(raw);
const { name, tags: [favourite = "none"] = [], manager: boss = 0 } = third;
const { target: { datetime, is_dst: summer }, time_difference: difference } = await mux.time.convert_time({
  source_timezone: "UTC",
  time: "08:00",
  target_timezone: "Asia/Tokyo",
});
let a = 1, b = 2;
[a, b] = [b, a];
return {
  first: first.name, name, favourite, boss, rest: rest.slice(0, limit).map(({ id, ...person }) => person.name),
  clock: datetime.slice(11, 16), summer, difference, a, b, others: Object.keys(others).sort(),
};
