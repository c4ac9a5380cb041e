// What tools were when they were first trusted, and what somebody accepts of what they are now.

export interface PinsRequest {
  server: string;
  /** Asks the server itself, which is started if need be, and not what it listed last. */
  current?: boolean;
}

/** The tools of one server beside their pins. */
export interface PinList {
  server: string;
  tools: PinInfo[];
}

export interface PinInfo {
  /** As the server spells it. */
  name: string;
  standing: PinStanding;
  /** Names the definition that the tool has now, in hexadecimal digits; absent if nothing is pinned of it. */
  digest?: string;
  /** When the pin was made, in milliseconds since 1970. */
  since_ms?: number;
  /**
   * What was trusted, as JSON with its names in order; absent if the tool is what it was, or if it is not
   * known.
   */
  before?: string;
  /** What the server says now, the same way. Letters that nobody sees are escaped. */
  now?: string;
}

export type PinStanding =
  /** It is what was trusted. */
  | "trusted"
  /** It came after its server was first trusted, and nobody has taken note. */
  | "new"
  /** It is not what was trusted, and can be called. */
  | "changed"
  /** It is not what was trusted, and its calls are refused. */
  | "refused"
  /** Nobody compares. */
  | "unpinned";

/** Pins tools as they are now. */
export interface AcceptPinsRequest {
  server: string;
  tools: SeenTool[];
}

/** A tool with the digest of what somebody has seen of it: what it has become meanwhile is not accepted. */
export interface SeenTool {
  name: string;
  digest: string;
}

export interface AcceptedPins {
  tools: number;
}
