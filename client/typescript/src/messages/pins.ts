// Pins: what tools were when they were first trusted, and the acceptance of changed tools.

export interface PinsRequest {
  server: string;
  /** Whether to list the tools anew, and start the server if necessary, instead of using its last list. */
  current?: boolean;
}

/** The tools of one server, each with its pin. */
export interface PinList {
  server: string;
  tools: PinInfo[];
}

export interface PinInfo {
  /** As the server spells it. */
  name: string;
  standing: PinStanding;
  /** The digest of the tool's present definition, in hexadecimal; absent if the tool is not pinned. */
  digest?: string;
  /** When the pin was made, in milliseconds since 1970. */
  since_ms?: number;
  /** The trusted definition, as JSON with sorted names; absent if the tool is unchanged, or if it is not known. */
  before?: string;
  /** The present definition, as JSON with sorted names. Invisible characters are escaped. */
  now?: string;
}

export type PinStanding =
  /** The tool is as it was trusted. */
  | "trusted"
  /** The tool was added after its server was first trusted, and was not accepted yet. */
  | "new"
  /** The tool has changed since it was trusted, and can be called. */
  | "changed"
  /** The tool has changed since it was trusted, and its calls are refused. */
  | "refused"
  /** The tool is not compared with a pin. */
  | "unpinned";

/** Pins tools as they are now. */
export interface AcceptPinsRequest {
  server: string;
  tools: SeenTool[];
}

/** A tool with the digest of the definition that the user has seen: if it has changed since, it is not accepted. */
export interface SeenTool {
  name: string;
  digest: string;
}

export interface AcceptedPins {
  tools: number;
}
