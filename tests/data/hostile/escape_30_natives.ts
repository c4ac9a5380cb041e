// must: error syntax
return %DebugPrint(globalThis);
