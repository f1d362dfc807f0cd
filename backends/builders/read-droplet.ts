// Reads the droplet of a build that has exported its image.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { REGISTRY_SECRET } from "../../crds/registry-secret.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { toDroplet } from "./exported-image.ts";
import { presentImageError, type BuildRegistry } from "./registry-images.ts";

/** `image` is the reference by digest. @throws StagingFailure where no retry helps, RegistryError, KubeError */
export async function readDroplet(
  image: string,
  registry: Pick<BuildRegistry, "inspect">,
  client: Pick<KubeClient, "find">,
): Promise<ReturnType<typeof toDroplet>> {
  const [{ config }, pullSecret] = await Promise.all([
    registry.inspect(image).catch((error: unknown) => {
      throw presentImageError(error, `the exported image ${image} cannot be read`);
    }),
    client.find(Secret, { namespace: SYSTEM_NAMESPACE, name: REGISTRY_SECRET }),
  ]);
  return toDroplet(image, config, pullSecret && REGISTRY_SECRET);
}
