// must: error syntax
// says: programs import nothing
import fs from "node:fs";
return fs;
