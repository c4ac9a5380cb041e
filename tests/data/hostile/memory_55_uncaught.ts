// A buffer that does not fit is a matter of memory, and the limit is named.
// must: error memory
// must on quickjs: error runtime
// says: all buffers of a program together may hold 64 MiB
return new Uint8Array(2 ** 27).length;
