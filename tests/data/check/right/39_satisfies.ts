type Job = { zone: string; at: `${number}:${number}` };
const jobs = {
  backup: { zone: "Asia/Tokyo", at: "03:00" },
  report: { zone: "America/New_York", at: "17:30" },
} satisfies Record<string, Job>;

const when = await Promise.all(
  (Object.keys(jobs) as (keyof typeof jobs)[]).map(async (job) => {
    const { zone, at } = jobs[job];
    const { target } = await mux.time.convert_time({ source_timezone: zone, time: at, target_timezone: "UTC" });
    return { job, utc: target.datetime.slice(11, 16) };
  }),
);
const args = { path: mux.input.dir, excludePatterns: ["*.log"] } satisfies { path: string; excludePatterns?: string[] };
const tree = await mux.files.directory_tree(args);
return { backup: when.find((w) => w.job === "backup")!.utc, tree: tree.content.includes("app.log") };
