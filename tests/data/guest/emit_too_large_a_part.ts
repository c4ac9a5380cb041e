mux.emit({ type: "text", text: "x".repeat(5 * 1024 * 1024) });
