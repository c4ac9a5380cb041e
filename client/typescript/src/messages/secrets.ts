// Secrets that the configuration names. A value goes to the daemon and never comes back.

/** Keeps a value, in place of the one that was kept. */
export interface SetSecretRequest {
  name: string;
  value: string;
}

/** Where a secret is. */
export type SecretPlace =
  /** The system's. */
  | "keyring"
  /** `file`. */
  | "file";

/** One that was set, or that an entry names. */
export interface SecretInfo {
  name: string;
  /** Absent if nobody has set it. */
  place?: SecretPlace;
  /** When it was set, in milliseconds since 1970. */
  since_ms?: number;
  /** The entries that name it, such as `servers.github`. */
  used_by: string[];
}

export interface SecretList {
  /** By name. */
  secrets: SecretInfo[];
  /** Those that are set now go into the system's keyring, and not into the file. */
  keyring: boolean;
  file: string;
  /** Why the keyring is not used, where it was to be. */
  note?: string;
  /** Why the file is not used. */
  problem?: string;
}

export interface SecretRemoved {
  name: string;
  was_set: boolean;
  /** The entries that cannot be used without it. */
  used_by: string[];
}
