// The settings that are in force for an agent, and the problems of a configuration.

export interface SettingsRequest {
  agent?: string;
}

/** The settings in force. No value is a secret. */
export interface SettingsReport {
  /** The configuration file. */
  file: string;
  settings: Setting[];
  /**
   * The settings as a `config.toml`, each value with its origin as a comment. Entries with secrets are comments. Feature
   * `config_text`.
   */
  text?: string;
  /** Remarks, such as that the configuration has no section for the agent. */
  notes?: string[];
}

export interface Setting {
  /** The name as in the configuration file, such as `limits.wall`. */
  name: string;
  value: unknown;
  from: SettingSource;
  /** The line of the configuration file that sets it. */
  line?: number;
  /** The file that sets it, if it is not the configuration file. */
  file?: string;
}

export type SettingSource =
  | "default"
  | "config"
  /** The agent's section of the configuration file. */
  | "agent"
  | "project";

/** Checks a configuration without putting it in force. */
export interface CheckConfigRequest {
  text: string;
  /** The file's name, for messages. */
  file: string;
}

export interface ConfigReport {
  problems: ConfigProblem[];
  /** The number of usable and of disabled entries. */
  servers: number;
}

export interface ConfigProblem {
  /** The line of the problem, if known. */
  line?: number;
  message: string;
}
