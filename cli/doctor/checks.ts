// All checks of `cup doctor --cluster`, in the order in which they are told.
import { addressChecks } from "./checks/addresses.ts";
import { appChecks, registryChecks } from "./checks/apps.ts";
import { installationChecks } from "./checks/installation.ts";
import { kubernetesChecks } from "./checks/kubernetes.ts";
import { processChecks, resourceChecks, rewindChecks } from "./checks/processes.ts";
import { networkProbeChecks, registryProbeChecks } from "./checks/probes.ts";
import type { CheckGroup } from "./finding.ts";

export const CHECK_GROUPS: readonly CheckGroup[] = [
  { title: "Kubernetes", checks: kubernetesChecks },
  { title: "Installation", checks: installationChecks },
  { title: "Processes", checks: [...processChecks, ...addressChecks, ...rewindChecks] },
  { title: "Registry", checks: [...registryProbeChecks, ...registryChecks] },
  { title: "Apps", checks: appChecks },
  { title: "Resources", checks: [...resourceChecks, ...networkProbeChecks] },
];
