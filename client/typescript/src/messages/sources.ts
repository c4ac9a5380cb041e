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
  /** HTTP requests since its description was read. */
  requests: number;
}

/** What a look at a source's description has found, by the names of its functions. */
export interface RefreshedSource {
  source: string;
  /** How many it has now. */
  functions: number;
  added: string[];
  removed: string[];
  changed: string[];
}
