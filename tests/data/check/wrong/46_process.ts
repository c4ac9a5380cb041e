// mistake: line 3, column 17: programs have no environment
// says: process
const verbose = process.env.VERBOSE === "1";
const status = await mux.git.git_status({ repo_path: mux.input.repo });
if (verbose) console.log(status);
return status.includes("nothing to commit");
