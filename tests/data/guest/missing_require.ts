const fs = require("fs");
return fs;
