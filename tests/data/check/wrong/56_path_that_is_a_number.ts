// mistake: line 7, column 31: a path is a string
// says: number, string
const tools = ["everything.echo", "time.get_current_time"];
const args = [{ message: "hello" }, { timezone: "UTC" }];
const results = [];
for (let i = 0; i < tools.length; i++) {
  results.push(await mux.call(i, args[i]));
}
return results;
