// mistake: line 5, column 3: the function says `string` and returns a number
// says: number, string
async function humidity(location: "Chicago" | "New York"): Promise<string> {
  const weather = await mux.everything.get_structured_content({ location });
  return weather.humidity;
}

const both = await Promise.all([humidity("Chicago"), humidity("New York")]);
return both.map((h) => `${h}%`);
