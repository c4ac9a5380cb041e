// mistake: line 4, column 9: the call is not awaited
// says: temperature, Promise
const format = (n: number) => n.toFixed(1);
const { temperature } = mux.everything.get_structured_content({ location: "Chicago" });
const rounded = format(temperature);
return `${rounded} degrees`;
