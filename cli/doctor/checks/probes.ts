// Checks 401 and 602: what pods of a probe could do.
import type { Check } from "../finding.ts";

const registry: Check = {
  code: 401,
  title: "the registry lets the platform work",
  severity: "problem",
  needsProbe: true,
  fault:
    "With `--probe`: a pod with the platform's login cannot do one of these in the registry of `registry.prefix`, in its repository `cupola-probe`: log in, upload a byte, push a manifest, pull, list tags, delete. The finding names the first one that failed, and the registry's answer.",
  mend: "Give the login of `registry.username` or `registry.secretName` that right. Without deletion (docker-registry: `REGISTRY_STORAGE_DELETE_ENABLED=true`) content of deleted apps stays for ever.",
  judge(read) {
    const { registry: failure, registryName = "" } = read.registryProbe() ?? {};
    if (!failure) return [];
    return [
      {
        what: `Registry ${registryName}: ${failure.step} failed: ${failure.message}`,
        where: [`Registry ${registryName}`],
        next: "give the login of registry.username or registry.secretName that right",
      },
    ];
  },
};

const network: Check = {
  code: 602,
  title: "NetworkPolicies are enforced",
  severity: "problem",
  needsProbe: true,
  fault:
    "With `--probe`: for 15 s a pod reaches another one at a port that a NetworkPolicy closes. Spaces are not isolated from each other then, and security groups and app-to-app policies do nothing.",
  mend: "Use a network for pods that enforces NetworkPolicies, such as Calico or Cilium.",
  judge(read) {
    if (read.networkProbe()?.isEnforced !== false) return [];
    return [
      {
        what: "the cluster's network does not enforce NetworkPolicies: spaces are not isolated",
        next: "use a network for pods that enforces NetworkPolicies, such as Calico or Cilium",
      },
    ];
  },
};

export const registryProbeChecks: readonly Check[] = [registry];
export const networkProbeChecks: readonly Check[] = [network];
