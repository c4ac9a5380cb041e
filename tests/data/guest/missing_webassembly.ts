return new WebAssembly.Module(new Uint8Array([0]));
