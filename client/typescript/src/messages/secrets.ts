// Secrets that the configuration names. A value is sent to the daemon and never returned.

/** Stores the value of a secret, in place of the present one. */
export interface SetSecretRequest {
  name: string;
  value: string;
}

/** Where a secret is stored. */
export type SecretPlace =
  /** The system's keyring. */
  | "keyring"
  /** The file in `SecretList`. */
  | "file";

/** A secret that was set, or that an entry of the configuration names. */
export interface SecretInfo {
  name: string;
  /** Where the secret is stored; absent if it is not set. */
  place?: SecretPlace;
  /** When it was set, in milliseconds since 1970. */
  since_ms?: number;
  /** The entries that name it, such as `servers.github`. */
  used_by: string[];
}

export interface SecretList {
  /** The secrets, sorted by name. */
  secrets: SecretInfo[];
  /** Whether new secrets are stored in the system's keyring, and not in the file. */
  keyring: boolean;
  file: string;
  /** Why the keyring is not used, although it is configured. */
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
