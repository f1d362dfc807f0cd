// What the builder tells the process of one build, and what it hears from it. Types only.
import type { Environment } from "../../host/host-environment.ts";
import type { DropletMetadata } from "../../host/droplet-metadata.ts";
import type { StagingCode } from "./lifecycle/staging-failure.ts";

/** Sent once, as the first message. The package (tar.gz) comes on stdin. Directories are absolute. */
export interface BuildRequest {
  root: string;
  work: string;
  cache: string;
  stack: string;
  user: Environment;
  /** Folders of buildpacks, in order. */
  buildpacks: string[];
  detect: boolean;
  available: string[];
  companionBuildpack: string;
  maxBytes: number;
  /** Where the droplet (tar.gz) is to be written. */
  droplet: string;
}

/** Sent once, at the end. */
export type BuildResponse = { metadata: DropletMetadata } | { failure: { code: StagingCode; message: string } };
