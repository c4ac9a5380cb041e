// mistake: line 3, column 57: the cities are New York, Chicago and Los Angeles
// says: Boston, Chicago
const w = await mux.everything.get_structured_content({ location: "Boston" });
console.log(`It is ${w.temperature} degrees, ${w.conditions}`);
if (w.humidity > 80) {
  console.log("take an umbrella");
}
return w;
