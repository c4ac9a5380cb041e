// mistake: line 6, column 16: files are read with a tool
// says: fs
// Read all the logs and count the errors.
let errors = 0;
for (const name of ["app.log", "db.log"]) {
  const text = fs.readFileSync(`${mux.input.dir}/logs/${name}`, "utf8");
  errors += text.split("\n").filter((line) => line.includes("ERROR")).length;
}
return errors;
