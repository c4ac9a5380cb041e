// How tools are written in programs, for readers: events and approvals have the names that servers use.

/** Methods of MCP other than tool calls, by which policy names them: `server.resources/read`. */
const METHOD = /^(completion|elicitation|prompts|resources|roots|sampling)\//;
/** A name with more segments than this is not a path. */
const MAX_SEGMENTS = 16;

/** The path `server.tool` as a program writes it after `mux.`. A path of another method is unchanged. */
export function programPath(path: string): string {
  const dot = path.indexOf(".");
  const tool = path.slice(dot + 1);
  if (dot < 0 || tool === "" || METHOD.test(tool)) return path;
  return `${spell(path.slice(0, dot))}.${spell(tool)}`;
}

function spell(name: string): string {
  const segments = name.split(".");
  const isPath = segments.length <= MAX_SEGMENTS && !segments.includes("");
  return isPath ? segments.map(spellSegment).join(".") : spellSegment(name);
}

/** The rule of the daemon. */
function spellSegment(segment: string): string {
  const spelled = segment.replace(/[^\w$]+/g, "_").replace(/^\d/, "_$&");
  return spelled === "" || spelled === "then" || spelled === "toJSON" ? `${spelled}_` : spelled;
}
