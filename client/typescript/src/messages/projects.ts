// Projects: directories whose files define servers.

/** Which projects to list. */
export interface ProjectsRequest {
  /** Only the project to which this directory belongs; all known projects if absent. */
  dir?: string;
}

export interface ProjectList {
  projects: ProjectInfo[];
}

/** The files of one directory that define servers. */
export interface ProjectInfo {
  /** The project's directory, without symbolic links. */
  root: string;
  state: ProjectState;
  /** The digest of the present files; absent if one cannot be read. */
  digest?: string;
  files: ProjectFile[];
  servers: ProjectServer[];
  /** Globs of paths that clients in this project may not call, approved or not. */
  denied?: string[];
  /**
   * Globs of paths that the approved text denies, although the files have since been changed or deleted: in force until
   * the approval is revoked.
   */
  still_denied?: string[];
  /** Parts of the files without effect, and why. */
  problems?: string[];
}

export type ProjectState =
  /** The project was never approved. */
  | "new"
  /** The files have changed since they were approved. */
  | "changed"
  | "approved"
  /** The project was approved, and its files do not exist any more. */
  | "gone";

/** A file of a project. */
export interface ProjectFile {
  name: string;
  /** The present text; absent if the file does not exist or cannot be read. */
  text?: string;
  /** The approved text. */
  approved?: string;
}

/** A server as its file defines it: with the names of variables and without their values. */
export interface ProjectServer {
  name: string;
  /** The file that defines it. */
  file: string;
  /** The command line or the URL. */
  command: string;
  /** The names of its environment variables. */
  env?: string[];
  headers?: string[];
  /** The commands that are run to obtain values. */
  commands?: string[];
  /** Why the server cannot be used. */
  problem?: string;
}

/** Approves the files that the user has seen, by their digest. */
export interface ApproveProjectRequest {
  root: string;
  digest: string;
}

export interface ProjectRevoked {
  /** Whether the project was approved. */
  was_approved: boolean;
}
