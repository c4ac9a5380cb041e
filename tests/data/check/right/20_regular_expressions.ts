const { content } = await mux.files.read_text_file({ path: `${mux.input.dir}/logs/app.log` });
const LINE = /^(?<time>\S+) (?<level>INFO|WARN|ERROR) \[(?<component>\w+)\] (?<text>.*)$/gm;
const entries = [...content.matchAll(LINE)].map((m) => ({ ...m.groups, at: m.index }));
const durations = [];
let m;
const took = /took (\d+)ms/g;
while ((m = took.exec(content)) !== null) {
  durations.push(+m[1]);
}
const hidden = content.replace(/user=(\w+)/g, (_, user) => `user=${"*".repeat(user.length)}`);
return {
  entries: entries.length,
  slowest: Math.max(...durations),
  hidden: hidden.includes("user=***"),
  errors: entries.filter((e) => e.level === "ERROR").map((e) => e.component),
  date: content.slice(0, 10).split("-").map(n => parseInt(n, 10)),
};
