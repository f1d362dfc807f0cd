// Publishes a class's capabilities and telemetry endpoint in the status of its BackendClass. All classes share it.
import type { Reader } from "../kube/cache/reader.ts";
import { type Controller, defineController, type WatchRule } from "../kube/controller/controller.ts";
import { BackendClass } from "../crds/backend-class/backend-class.ts";
import type { BackendRole } from "../crds/backend-class/find-class.ts";

/** The status that a class publishes. `endpoint` serves its logs and stats; `secretRef` names a Secret in the system namespace, whose key is `token`. */
export interface ClassPublication {
  name: string;
  role: BackendRole;
  capabilities: Readonly<Record<string, string>> | ((read: Reader) => Readonly<Record<string, string>>);
  /** Objects on which the capabilities depend. */
  watches?: readonly WatchRule[];
  endpoint?: { url: string; secretRef?: { name: string } };
}

/**
 * A controller for the one BackendClass of this name and role. Installing the platform makes the object.
 * Only the leader publishes an endpoint, since it is an address of one process.
 */
export function classController(publication: ClassPublication): Controller {
  const { name, role, capabilities, watches = [], endpoint } = publication;
  return defineController({
    name: `class-${name}`,
    kind: endpoint ? "singleton" : "leaderless",
    for: BackendClass,
    selects: (object) => object.metadata.name === name && object.spec.role === role,
    watches,
    reconcile: (_object, { read }) => ({
      status: { capabilities: typeof capabilities === "function" ? capabilities(read) : capabilities, endpoint },
    }),
  });
}
