// Reads every log file through the filesystem server, all at once, counts what happened to each
// service, and writes a digest back. Only the digest's summary leaves the program.
const { directory, output } = mux.input as { directory: string; output: string };

const listing = await mux.files.list_directory({ path: directory });
const names = listing.content
  .split("\n")
  .filter((line) => line.startsWith("[FILE]") && line.endsWith(".log"))
  .map((line) => line.slice("[FILE] ".length));

const texts = await Promise.all(
  names.map((name) => mux.files.read_text_file({ path: `${directory}/${name}` })),
);

interface Tally { lines: number; errors: number; slowest: number }
const services: Record<string, Tally> = {};
for (const { content } of texts) {
  for (const line of content.split("\n").filter(Boolean)) {
    const [, level, service, , took] = line.split(" ");
    const tally = (services[service] ??= { lines: 0, errors: 0, slowest: 0 });
    tally.lines += 1;
    if (level === "ERROR") tally.errors += 1;
    tally.slowest = Math.max(tally.slowest, Number(took.slice(0, -2)));
  }
}
console.log(`read ${texts.length} files`);

await mux.files.write_file({ path: output, content: JSON.stringify(services, null, 2) });
const worst = Object.entries(services).sort(([, a], [, b]) => b.errors - a.errors)[0];
return { files: texts.length, services: Object.keys(services).length, worst: worst[0], errors: worst[1].errors };
