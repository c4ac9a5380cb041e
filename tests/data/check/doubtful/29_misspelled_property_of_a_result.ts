// mistake: line 5, column 58: the property is `temperature`
// says: temprature, temperature
const cities = ["New York", "Chicago", "Los Angeles"] as const;
const reports = await Promise.all(cities.map((location) => mux.everything.get_structured_content({ location })));
const warmest = reports.reduce((best, report) => (report.temprature > best.temperature ? report : best));
return warmest.conditions;
