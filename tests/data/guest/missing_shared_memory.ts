return new SharedArrayBuffer(8).byteLength;
