// APIs that are described and no MCP servers.

/** What there is to say of a source beside what it has in common with servers. */
export interface SourceInfo {
  /** `openapi` or `graphql`; absent if its entry cannot be read. */
  kind?: string;
  /**
   * When the description was last known to be right, in milliseconds since 1970; absent for a file, and
   * before it was first fetched.
   */
  fetched_ms?: number;
  /** Why a newer description is not used. */
  problem?: string;
  /** The security schemes that its functions need and for which no credential is given. */
  missing?: string[];
  /**
   * What a user should look at, of its description and its credentials; all of it is among the server's
   * warnings, too, the text and behind a semicolon what to do.
   */
  notes?: SourceNote[];
  /** HTTP requests since its description was read. */
  requests: number;
}

/** Something to look at. */
export interface SourceNote {
  text: string;
  /** What to do about it, where that is one thing. */
  fix?: string;
}

/** What a look at a source's description has found, by the names of its functions. */
export interface RefreshedSource {
  source: string;
  /** How many it has now. */
  functions: number;
  added: string[];
  removed: string[];
  changed: string[];
  /** Where its functions are called and its tokens fetched since then, and were not before. */
  origins?: string[];
  /** What a user should look at since then. */
  notes?: string[];
}
