const bytes = new TextEncoder().encode("hé 😀");
const thrown = (run: () => unknown) => { try { return run(); } catch (error) { return `${error.name}: ${error.message}`; } };
const streamed = new TextDecoder();
return {
  streamed: [...new TextEncoder().encode("\ufeffé😀")].map((byte) => streamed.decode(new Uint8Array([byte]), { stream: true })).join("|"),
  cut: streamed.decode(new Uint8Array([0xf0, 0x9f]), { stream: true }) + streamed.decode(),
  bytes: [...bytes],
  back: new TextDecoder().decode(bytes),
  bom: new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x41])),
  lenient: new TextDecoder().decode(new Uint8Array([0x41, 0xff])),
  fatal: thrown(() => new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([0xff]))),
  label: thrown(() => new TextDecoder("latin1")),
  btoa: btoa("\u00ffabc"),
  atob: atob(" /2Fi\nYw== ").length,
  wide: thrown(() => btoa("€")),
  broken: thrown(() => atob("a")),
};
