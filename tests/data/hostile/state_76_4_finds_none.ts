// must: result ["function",false,true]
return [typeof mux.emit, Object.hasOwn(mux.emit, "call"), Object.isFrozen(mux.emit)];
