const part = { type: "image", data: "x".repeat(3 * 1024 * 1024), mimeType: "image/png" };
let emitted = 0;
try {
  for (;;) {
    mux.emit(part);
    emitted++;
  }
} catch (error) {
  return { emitted, ...error, message: error.message };
}
