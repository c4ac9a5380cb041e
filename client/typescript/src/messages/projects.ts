// Projects whose files define servers.

/** Asks for projects. */
export interface ProjectsRequest {
  /** The one to which this directory belongs; without it, all that are known. */
  dir?: string;
}

export interface ProjectList {
  projects: ProjectInfo[];
}

/** The files of one directory that define servers. */
export interface ProjectInfo {
  /** Without links. */
  root: string;
  state: ProjectState;
  /** Names the files as they are now; absent if one cannot be read. */
  digest?: string;
  files: ProjectFile[];
  servers: ProjectServer[];
  /** Globs of paths that may not be called by those who work there, approved or not. */
  denied?: string[];
  /**
   * Globs of paths that the approved text denies, where the files are others now or gone: in force until the approval is
   * revoked.
   */
  still_denied?: string[];
  /** What of the files has no effect, and why. */
  problems?: string[];
}

export type ProjectState =
  /** Nothing was approved there. */
  | "new"
  /** Something else was approved. */
  | "changed"
  | "approved"
  /** Something was approved, and there is no file any more. */
  | "gone";

/** One of its files. */
export interface ProjectFile {
  name: string;
  /** As it is now; absent if it is gone or cannot be read. */
  text?: string;
  /** As it was approved. */
  approved?: string;
}

/** One server, as it is written: with the names of variables and without their values. */
export interface ProjectServer {
  name: string;
  /** The file that defines it. */
  file: string;
  /** The command line or the URL. */
  command: string;
  /** The variables that it is given. */
  env?: string[];
  headers?: string[];
  /** What is run to find out values. */
  commands?: string[];
  /** Why it cannot be used. */
  problem?: string;
}

/** The user has seen what this digest names, and approves it. */
export interface ApproveProjectRequest {
  root: string;
  digest: string;
}

export interface ProjectRevoked {
  /** Whether anything was approved. */
  was_approved: boolean;
}
