// Processors that there are images for, by OCI's names, which are Debian's, too.
export const PROCESSORS = ["amd64", "arm64"] as const;
export type Processor = (typeof PROCESSORS)[number];

/** This machine's. @throws Error when there is no image for it */
export function ownProcessor(): Processor {
  const name = process.arch === "x64" ? "amd64" : process.arch;
  const found = PROCESSORS.find((one) => one === name);
  if (!found) throw new Error(`there is no image for ${name}: build it on ${PROCESSORS.join(" or ")}`);
  return found;
}

/** Node's name of it. */
export function nodeArch(processor: Processor): string {
  return processor === "amd64" ? "x64" : processor;
}
