// The engine does not look up from this one: only SIGKILL ends it.
// args: --timeout 2s
// must: error timeout
// says: longer than its 2 s
return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1);
