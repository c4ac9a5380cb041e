// The settings that are in force for somebody, and what is wrong with a file of them.

export interface SettingsRequest {
  agent?: string;
}

/** What is in force. No value of it is a secret. */
export interface SettingsReport {
  /** The configuration file. */
  file: string;
  settings: Setting[];
  /** What should be known, such as that nothing is said of the agent. */
  notes?: string[];
}

export interface Setting {
  /** As it would be written, such as `limits.wall`. */
  name: string;
  value: unknown;
  from: SettingSource;
  /** Of the configuration file. */
  line?: number;
  /** The file, if it is another one. */
  file?: string;
}

export type SettingSource =
  | "default"
  | "config"
  /** What the file says of this agent alone. */
  | "agent"
  | "project";

/** Looks at a configuration without putting it in force. */
export interface CheckConfigRequest {
  text: string;
  /** Its name, for what is told. */
  file: string;
}

export interface ConfigReport {
  problems: ConfigProblem[];
  /** The entries that can be used, and those that are switched off. */
  servers: number;
}

export interface ConfigProblem {
  /** Where it stands, if that is known. */
  line?: number;
  message: string;
}
