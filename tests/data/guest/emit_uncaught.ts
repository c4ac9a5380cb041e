console.log("before");
mux.emit({ type: "image", data: "aGVsbG8=" } as any);
