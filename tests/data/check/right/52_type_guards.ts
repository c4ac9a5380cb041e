type Part = { type: "text"; text: string } | { type: "image"; data: string; mimeType: string };

const isText = (part: Part): part is Extract<Part, { type: "text" }> => part.type === "text";
function assertString(value: unknown): asserts value is string {
  if (typeof value !== "string") throw new TypeError(`a string is needed, not ${typeof value}`);
}
const size = (value: string | string[] | Record<string, unknown> | null): number => {
  if (value === null) return 0;
  if (typeof value === "string" || Array.isArray(value)) return value.length;
  return Object.keys(value).length;
};

const parts: Part[] = await mux.everything.get_tiny_image();
const texts = parts.filter(isText).map(({ text }) => text);
const image = parts.find((p) => p.type === "image");
const echo: unknown = await mux.everything.echo({ message: "guarded" });
assertString(echo);
const media = await mux.files.read_media_file({ path: `${mux.input.dir}/notes.md` });
const kinds = media.content.map((part) => ("resource" in part ? part.resource.uri.slice(0, 4) : part.mimeType));
return { texts: texts.length, mime: image && "mimeType" in image ? image.mimeType : null, echo: echo.toUpperCase(), sizes: [size(null), size("abc"), size([]), size({ a: 1 })], kinds };
