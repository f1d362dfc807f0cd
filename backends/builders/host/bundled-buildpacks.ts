// The buildpacks that come with the builder host. Loads nothing else, since `cup` asks them, too.
import { join } from "node:path";

/**
 * The buildpacks that come with this builder, in the order of detection. Node.js is after the other languages,
 * whose projects often have a package.json for their pages.
 */
export const bundledBuildpacks = [
  "java",
  "go",
  "ruby",
  "php",
  "python",
  "nodejs",
  "staticfile",
  "procfile",
  "binary",
] as const;

/** The folder of a bundled buildpack. */
export function bundledFolder(name: (typeof bundledBuildpacks)[number]): string {
  return join(import.meta.dirname, "buildpacks", name);
}
