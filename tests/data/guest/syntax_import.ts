import { readFile } from "node:fs/promises";
return await readFile("/etc/passwd", "utf8");
