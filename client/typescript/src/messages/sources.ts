// Sources: APIs that the daemon calls itself, by their descriptions.

/** The state of a source, in addition to that of a server. */
export interface SourceInfo {
  /** `openapi` or `graphql`; absent if its entry cannot be read. */
  kind?: string;
  /**
   * When the description was last known to be current, in milliseconds since 1970; absent for a file, and before it was
   * first fetched.
   */
  fetched_ms?: number;
  /** Why a newer description is not used. */
  problem?: string;
  /** The security schemes that the functions need and for which no credential is configured. */
  missing?: string[];
  /**
   * Remarks on the description and the credentials; each is also among the server's warnings, as the text followed by a
   * semicolon and the fix.
   */
  notes?: SourceNote[];
  /** The number of HTTP requests since the description was read. */
  requests: number;
}

/** A remark on a source, for the user. */
export interface SourceNote {
  text: string;
  /** What to do about it, if there is one remedy. */
  fix?: string;
}

/** The changes of a source's reloaded description, by the names of its functions. */
export interface RefreshedSource {
  source: string;
  /** The number of functions now. */
  functions: number;
  added: string[];
  removed: string[];
  changed: string[];
  /** New origins, at which functions are called or tokens are fetched since the reload. */
  origins?: string[];
  /** New remarks for the user since the reload. */
  notes?: string[];
}
