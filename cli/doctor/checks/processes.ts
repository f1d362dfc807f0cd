// Checks 301 to 303, 307 and 601: the platform's own processes.
import type { Deployment, Pod } from "../../../kube/api/builtin.ts";
import { parseQuantity } from "../../../kube/api/quantity.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import { REWOUND_EXIT_CODE } from "../../../crds/replica/rewound.ts";
import { bytes } from "../../output.ts";
import { operationsOf } from "../chart-arguments.ts";
import { count, nameFirst, type Check, type Found } from "../finding.ts";
import type { Readings } from "../facts.ts";

type PodObject = ObjectOf<typeof Pod>;

const COMPONENT = "app.kubernetes.io/component";

const replicas: Check = {
  code: 301,
  title: "each part has a ready replica",
  severity: "problem",
  fault: "A Deployment of the chart has no available replica.",
  mend: "The finding has the reason of its pod, or of the pod's own `/readyz`. `kubectl logs -n cupola-system deploy/cupola-PART` has more. Apps run on meanwhile; without `instance-index` no new instance starts.",
  judge: (read) =>
    read
      .deployments()
      .filter(({ status }) => !status?.availableReplicas)
      .map((deployment) => {
        const { name, labels } = deployment.metadata;
        return {
          what: `${name} has no ready replica: ${whyNotReady(read, deployment)}`,
          where: [`Deployment cupola-system/${name}`],
          next:
            deployment.spec?.replicas === 0
              ? `kubectl scale -n cupola-system deploy/${name} --replicas=2`
              : `kubectl describe pod -n cupola-system -l ${COMPONENT}=${labels?.[COMPONENT] ?? ""}; kubectl logs -n cupola-system deploy/${name}`,
        };
      }),
};

function whyNotReady(read: Readings, { metadata, spec, status }: ObjectOf<typeof Deployment>): string {
  if (spec?.replicas === 0) return "it is scaled to 0";
  const pods = read.pods().filter((pod) => pod.metadata.labels?.[COMPONENT] === metadata.labels?.[COMPONENT]);
  const reasons = pods.flatMap((pod) => reasonOf(pod) ?? reasonOfReplica(read, pod) ?? []);
  const condition = status?.conditions?.find(({ type, status: is }) => type === "ReplicaFailure" && is === "True");
  return reasons[0] ?? condition?.message ?? (pods.length === 0 ? "it has no pod" : "its pods do not say why");
}

function reasonOf({ status }: PodObject): string | undefined {
  const waiting = status?.containerStatuses?.flatMap(({ state }) => state?.waiting ?? [])[0];
  if (waiting) return [waiting.reason, waiting.message].filter(Boolean).join(": ");
  const unscheduled = status?.conditions?.find(({ type, status: is }) => type === "PodScheduled" && is === "False");
  return unscheduled?.message;
}

/** A Replica is named by its pod and a random part. */
function reasonOfReplica(read: Readings, { metadata }: PodObject): string | undefined {
  const own = read.replicas().find((replica) => replica.metadata.name.startsWith(`${metadata.name}-`));
  const ready = own?.status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "False" ? ready.message : undefined;
}

const watches: Check = {
  code: 302,
  title: "each process sees what it needs",
  severity: "problem",
  fault:
    "A Replica says that a watch is parked, since a right or a kind is missing, or that a part of its process is degraded.",
  mend: "Forbidden: `helm upgrade cupola` restores roles and bindings. NoKind: it restores the kind. Degraded: the reason says what is missing. A watch resumes by itself within half a minute.",
  judge: (read) => [...judgeParked(read), ...judgeDegraded(read)],
};

function judgeParked(read: Readings): Found[] {
  const places = new Map<string, string[]>();
  for (const { metadata, status } of read.replicas())
    for (const { resource, namespace, reason } of status?.parked ?? []) {
      const what = `${resource} cannot be watched${namespace === undefined ? "" : ` in ${namespace}`}: ${reason}`;
      places.set(what, [...(places.get(what) ?? []), `Replica cupola-system/${metadata.name}`]);
    }
  return [...places].map(([what, where]) => ({
    what,
    where: nameFirst(where),
    next: what.endsWith("NoKind")
      ? "helm upgrade cupola restores the kind"
      : "helm upgrade cupola restores roles and bindings",
  }));
}

function judgeDegraded(read: Readings): Found[] {
  return read.replicas().flatMap(({ metadata, status }): Found[] =>
    (status?.degraded ?? []).map(({ name, reason }) => ({
      what: `${name}: ${reason}`,
      where: [`Replica cupola-system/${metadata.name}`],
      next: `kubectl describe replica -n cupola-system ${metadata.name}`,
    })),
  );
}

const leases: Check = {
  code: 303,
  title: "all work that one process does for all has its leader",
  severity: "problem",
  fault:
    "Nobody holds a Lease `leader-…` of an operation that is installed, or its holder did not renew it for longer than its duration. The command reads such a Lease twice, so clocks do not matter.",
  mend: "A process runs for election only when its caches are filled: `kubectl get pods` shows whether one runs, check 302 whether a watch is parked.",
  judge: (read) =>
    read.leases().flatMap(({ name, holder, isLate }): Found[] => {
      if (holder !== "" && !isLate) return [];
      const component = findComponent(read, name.slice("leader-".length));
      return [
        {
          what: holder === "" ? `nobody holds ${name}` : `${holder} holds ${name}, and does not renew it`,
          where: [`Lease cupola-system/${name}`],
          next: `kubectl get pods -n cupola-system${component === undefined ? "" : ` -l ${COMPONENT}=${component}`}`,
        },
      ];
    }),
};

function findComponent(read: Readings, operation: string): string | undefined {
  const own = read.deployments().find((deployment) => operationsOf(deployment).includes(operation));
  return own?.metadata.labels?.[COMPONENT];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const MEMORY_SHARE = 0.8;

const memory: Check = {
  code: 601,
  title: "no process is short of memory",
  severity: "problem",
  fault:
    "A container of the platform was killed for its memory in the last day, or uses more than 80 % of its limit (with metrics-server).",
  mend: "Raise `resources.PART.limits.memory`; docs/performance.md says how much a platform of a given size needs.",
  judge: (read) => read.pods().flatMap((pod) => [...judgeKilled(read.now(), pod), ...judgeUse(read, pod)]),
};

function partOf({ metadata }: PodObject): string {
  return metadata.labels?.[COMPONENT] ?? "PART";
}

function judgeKilled(now: number, pod: PodObject): Found[] {
  const killed = (pod.status?.containerStatuses ?? []).filter(({ lastState }) => {
    const { reason, finishedAt = "" } = lastState?.terminated ?? {};
    return reason === "OOMKilled" && now - Date.parse(finishedAt) < DAY_MS;
  });
  return killed.map(({ restartCount }) => ({
    what: `cupola-${partOf(pod)} was killed for its memory, after ${count(restartCount, "restart")}`,
    where: [`Pod cupola-system/${pod.metadata.name}`],
    next: `raise resources.${partOf(pod)}.limits.memory`,
  }));
}

function judgeUse(read: Readings, pod: PodObject): Found[] {
  if (read.metricsProblem() !== undefined) return [];
  return (pod.spec?.containers ?? []).flatMap((container): Found[] => {
    const limit = parseQuantity(container.resources?.limits?.["memory"] ?? "") ?? Infinity;
    const used = read.memoryInUse().get(`${pod.metadata.name}/${container.name}`) ?? 0;
    if (used <= limit * MEMORY_SHARE) return [];
    return [
      {
        what: `cupola-${partOf(pod)} uses ${bytes(used)} of ${bytes(limit)}`,
        where: [`Pod cupola-system/${pod.metadata.name}`],
        next: `raise resources.${partOf(pod)}.limits.memory`,
      },
    ];
  });
}

const rewound: Check = {
  code: 307,
  title: "the cluster did not go back in time",
  severity: "problem",
  fault:
    "A process of the platform ended in the last hour because Kubernetes answered with an older version than before: etcd was restored from a snapshot without `--bump-revision` and `--mark-compacted`.",
  mend: "Cupola's processes restarted by themselves. Programs that do not notice it go on with a state that etcd no longer has: restart kube-controller-manager, kube-scheduler and the kubelets, and other controllers of the cluster. [backup.md](backup.md#snapshots-of-etcd) says how to restore so that nothing needs a restart. The check passes again an hour later.",
  judge: (read) => {
    const ended = read.pods().filter(({ status }) =>
      status?.containerStatuses?.some(({ lastState }) => {
        const { exitCode, finishedAt = "" } = lastState?.terminated ?? {};
        return exitCode === REWOUND_EXIT_CODE && read.now() - Date.parse(finishedAt) < HOUR_MS;
      }),
    );
    if (ended.length === 0) return [];
    return [
      {
        what: `the cluster went back to an earlier state, and ${count(ended.length, "process", "processes")} of the platform restarted for it`,
        where: nameFirst(ended.map(({ metadata }) => `Pod cupola-system/${metadata.name}`)),
        next: "restart kube-controller-manager, kube-scheduler, the kubelets and other controllers, which still know what never happened",
      },
    ];
  },
};

export const rewindChecks: readonly Check[] = [rewound];
export const processChecks: readonly Check[] = [replicas, watches, leases];
export const resourceChecks: readonly Check[] = [memory];
