return Deno.readTextFileSync("/etc/passwd");
