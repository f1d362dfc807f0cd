// Publishes what a backend class can do and where its logs and stats are read, on the BackendClass of its name. Shared by all classes.
import { type Controller, defineController } from "../kube/controller/controller.ts";
import { BackendClass } from "../crds/backend-class/backend-class.ts";

/** What a class says of itself. `endpoint` is its telemetry; the Secret with the token (key `token`) lies in the system namespace. */
export interface ClassPublication {
  name: string;
  role: "builder" | "runner" | "router";
  capabilities: Readonly<Record<string, string>>;
  endpoint?: { url: string; secretRef?: { name: string } };
}

/**
 * A controller for the one BackendClass of that name and role. The object itself is made by whoever installs the platform.
 * An endpoint is one process's own, so only the leader publishes it.
 */
export function classController(publication: ClassPublication): Controller {
  const { name, role, capabilities, endpoint } = publication;
  return defineController({
    name: `class-${name}`,
    kind: endpoint ? "singleton" : "leaderless",
    for: BackendClass,
    selects: (object) => object.metadata.name === name && object.spec.role === role,
    reconcile: () => ({ status: { capabilities, endpoint } }),
  });
}
