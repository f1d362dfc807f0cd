// The messages between the builder and the process of one build. Types only.
import type { Environment } from "../../host/host-environment.ts";
import type { DropletMetadata } from "../../host/droplet-metadata.ts";
import type { StagingCode } from "../staging-failure.ts";

/** The builder's only message. The package (tar.gz) follows on stdin. Directories are absolute. */
export interface BuildRequest {
  root: string;
  work: string;
  cache: string;
  stack: string;
  user: Environment;
  /** Variables for every build of this builder; the user's win. */
  settings?: Environment;
  /** Folders of buildpacks, in order. */
  buildpacks: string[];
  detect: boolean;
  available: string[];
  companionBuildpack: string;
  maxBytes: number;
  /** File to which the droplet (tar.gz) is written. */
  droplet: string;
}

/** The build's only message, at its end. */
export type BuildResponse = { metadata: DropletMetadata } | { failure: { code: StagingCode; message: string } };
