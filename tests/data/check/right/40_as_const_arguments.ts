const CITIES = ["New York", "Chicago", "Los Angeles"] as const;
type City = (typeof CITIES)[number];
const report: Partial<Record<City, number>> = {};
for (const location of CITIES) {
  const { humidity } = await mux.everything.get_structured_content({ location });
  report[location] = humidity;
}
const request = { messageType: "debug" as const, includeImage: false };
const message = await mux.everything.get_annotated_message(request);
const sorted = await mux.files.list_directory_with_sizes({ path: mux.input.dir, ...({ sortBy: "name" } as const) });
return { cities: Object.keys(report), message: typeof message, sorted: sorted.content.length > 0 };
