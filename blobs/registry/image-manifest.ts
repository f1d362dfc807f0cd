// Shapes of images in a registry, as the OCI image specification has them. Only the fields that somebody here reads.

export const MEDIA_TYPES = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
  dockerIndex: "application/vnd.docker.distribution.manifest.list.v2+json",
  dockerManifest: "application/vnd.docker.distribution.manifest.v2+json",
} as const;

/** `size` is in bytes. */
export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  platform?: { os?: string; architecture?: string };
  annotations?: Record<string, string>;
}

export interface ImageManifest {
  schemaVersion: 2;
  mediaType?: string;
  config: Descriptor;
  layers: Descriptor[];
  annotations?: Record<string, string>;
}

export interface ImageIndex {
  schemaVersion: 2;
  mediaType?: string;
  manifests: Descriptor[];
}

/** The configuration of an image. The inner `config` has Docker's names. */
export interface ImageConfig {
  os?: string;
  architecture?: string;
  created?: string;
  config?: {
    Env?: string[];
    Entrypoint?: string[];
    Cmd?: string[];
    ExposedPorts?: Record<string, object>;
    Labels?: Record<string, string>;
    User?: string;
    WorkingDir?: string;
  };
  rootfs?: { type: string; diff_ids: string[] };
  /** An entry for each step of the image's making; an empty one made no layer. */
  history?: { created_by?: string; empty_layer?: boolean }[];
}

/** The operating system and architecture, in Go's words, as in `linux` and `amd64`. */
export interface Platform {
  os: string;
  architecture: string;
}

export function isIndex(mediaType: string): boolean {
  return mediaType === MEDIA_TYPES.index || mediaType === MEDIA_TYPES.dockerIndex;
}

/** The entry of an index for a platform, or undefined. */
export function findPlatform({ manifests }: ImageIndex, { os, architecture }: Platform): Descriptor | undefined {
  return manifests.find(({ platform }) => platform?.os === os && platform.architecture === architecture);
}
