// Differences between the versions of rendering: an LRP's pods keep the rules that they were made with until the app's next restart. Pure.

type Selector = { matchLabels: Record<string, string> };

export interface PodRules {
  /** Seconds that an instance serves on after its pod is deleted: until then no router sends it new requests. */
  drainSeconds: number;
  /** Whether sidecars serve on as long: the app may be reached through one. */
  drainsSidecars: boolean;
  /** Seconds between checks of an app that starts, where a check has a second for its answer. */
  startPeriodSeconds: number;
  /** Fields of a pod that keep instances apart. `selector` selects those of the same LRP. */
  planSpread(selector: Selector): Record<string, unknown>;
}

const ZONE = "topology.kubernetes.io/zone";
const HOST = "kubernetes.io/hostname";

/** Where nodes have no label of a zone, the scheduler counts neither constraint. */
const RULES_1: PodRules = {
  drainSeconds: 2,
  drainsSidecars: false,
  startPeriodSeconds: 2,
  planSpread: (selector) => ({ topologySpreadConstraints: [ZONE, HOST].map((key) => toConstraint(key, selector)) }),
};

const RULES_2: PodRules = {
  // Traefik with its defaults takes up a change up to 2 s after it has taken up the one before.
  drainSeconds: 5,
  drainsSidecars: true,
  startPeriodSeconds: 2,
  planSpread: (selector) => ({
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 100, podAffinityTerm: { topologyKey: ZONE, labelSelector: selector } },
        ],
      },
    },
    topologySpreadConstraints: [toConstraint(HOST, selector)],
  }),
};

/** Kubelet checks at the ticks of a clock that it starts before the container: with 2 s, an app that listens at once was ready a second later. */
const RULES_3: PodRules = { ...RULES_2, startPeriodSeconds: 1 };

const POD_RULES: ReadonlyMap<string, PodRules> = new Map([
  ["1", RULES_1],
  ["2", RULES_2],
  ["3", RULES_3],
]);

/** The version that new LRPs are made with, published as a capability of the classes. */
export const RENDERING = "3";

/** Undefined when this release has no such version. */
export function rulesOf(rendering: string): PodRules | undefined {
  return POD_RULES.get(rendering);
}

/** For the condition of an LRP whose version this release does not have. */
export function describeUnknownRendering(rendering: string): string {
  return `this release renders versions ${[...POD_RULES.keys()].join(", ")}, not ${rendering}; restart the app`;
}

function toConstraint(topologyKey: string, labelSelector: Selector): object {
  return { maxSkew: 1, topologyKey, whenUnsatisfiable: "ScheduleAnyway", labelSelector };
}
