// Why a droplet cannot run in pods, whatever the cluster does. Pure.
import type { LRP } from "../../crds/lrp/lrp.ts";

/** Undefined for a droplet that can. */
export function findRefusal({
  class: className,
  droplet,
  command,
  processType,
}: Pick<LRP["spec"], "class" | "droplet" | "command" | "processType">): string | undefined {
  if (droplet.kind === "host")
    return `class ${className} runs images; this droplet was built for the host: push an image, or choose a builder of images`;
  // An image with a process of another type may start it by itself; one without any never starts.
  if (droplet.kind === "cnb" && !command && Object.keys(droplet.processTypes).length === 0)
    return `the droplet has no process type ${processType} and no start command is set; its process types: none`;
  return undefined;
}
