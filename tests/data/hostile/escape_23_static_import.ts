// must: error syntax
// says: programs cannot import modules
import fs from "node:fs";
return fs;
