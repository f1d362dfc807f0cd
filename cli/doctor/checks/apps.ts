// Checks 402 and 501 to 506: apps, and the objects that belong to nobody.
import { LABELS } from "../../../crds/labels.ts";
import { CLAIM_GRACE_MS } from "../../../crds/claim/rules.ts";
import { rulesOf } from "../../../backends/pods/pod-rules.ts";
import { count, nameFirst, type Check, type Found } from "../finding.ts";
import type { ObjectRow, Readings } from "../facts.ts";

const GATE_MS = 30_000;
const ENDING_MS = 600_000;
/** An object that is being made or has just changed is nobody's fault. */
const SETTLING_MS = 60_000;

const placeOf = ({ kind, namespace, name }: Pick<ObjectRow, "kind" | "namespace" | "name">): string =>
  `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;

const images: Check = {
  code: 402,
  title: "spaces can pull images, and the builder image can be used",
  severity: "problem",
  fault:
    "The Secret `cupola-registry` is in `cupola-system`, but not in the namespace of a space that is older than a minute: its pods cannot pull images from the registry. Or the class `cnb` has said for over a minute that its builder image cannot be read, is none, or has a lifecycle that this version does not speak with; with `--probe` a pod with the platform's login reads the image now.",
  mend: "The Secret: `kubectl rollout restart -n cupola-system deploy/cupola-controllers`; if it stays away, the log says why. The builder image: name one that there is in `builders.cnb.builderImage`, and give the registry's login the right to read it.",
  judge: (read) => [...judgePullSecrets(read), ...judgeBuilderImage(read)],
};

function judgePullSecrets(read: Readings): Found[] {
  const having = new Set(read.pullSecrets());
  if (!having.has("cupola-system")) return [];
  const lacking = read
    .objects()
    .filter(
      ({ spaceNamespace, createdAt, deletedAt }) =>
        spaceNamespace !== undefined &&
        !having.has(spaceNamespace) &&
        deletedAt === undefined &&
        read.now() - createdAt > SETTLING_MS,
    );
  if (lacking.length === 0) return [];
  return [
    {
      what: `${count(lacking.length, "space")} cannot pull images: the Secret cupola-registry is missing`,
      where: nameFirst(lacking.map(({ spaceNamespace }) => `Namespace ${spaceNamespace ?? ""}`)),
      next: "kubectl rollout restart -n cupola-system deploy/cupola-controllers",
    },
  ];
}

/** As the class's condition has it. */
const BUILDER_IMAGE_UNUSABLE = "BuilderImageUnusable";

/** The class's own word, or what the probe saw just now: one of the two. */
function judgeBuilderImage(read: Readings): Found[] {
  const { builderImage: seen, builderImageName = "" } = read.registryProbe() ?? {};
  const said = read.objects().find((row) => row.ready?.reason === BUILDER_IMAGE_UNUSABLE && isNotReady(row, read.now()))
    ?.ready?.message;
  const problem = seen ?? said;
  if (problem === undefined) return [];
  return [
    {
      what: `the builder image cannot be used: ${problem}`,
      where: [`BackendClass cnb`, ...(builderImageName === "" ? [] : [`Image ${builderImageName}`])],
      next: "set builders.cnb.builderImage to an image that there is, and let the registry's login read it",
    },
  ];
}

const gates: Check = {
  code: 501,
  title: "no instance waits for its index",
  severity: "problem",
  fault: "A pod of an app is older than 30 s and still has the scheduling gate `cupola.dev/index`.",
  mend: "`kubectl logs -n cupola-system deploy/cupola-instance-index` says why no index is given.",
  judge(read) {
    const waiting = read.gatedPods().filter(({ createdAt }) => read.now() - createdAt > GATE_MS);
    if (waiting.length === 0) return [];
    return [
      {
        what: `${count(waiting.length, "pod")} ${waiting.length === 1 ? "waits" : "wait"} for an instance index`,
        where: nameFirst(waiting.map(({ namespace, name }) => `Pod ${namespace}/${name}`)),
        next: "kubectl logs -n cupola-system deploy/cupola-instance-index",
      },
    ];
  },
};

const orphans: Check = {
  code: 502,
  title: "each generated object has its owner",
  severity: "note",
  fault:
    "An LRP was made for a Process that is gone, a namespace for an Org or Space that is gone, or a Claim has held a name for over 30 s for an object that does not exist. Objects younger than a minute are left out.",
  mend: "Look at the object, then delete it with `kubectl delete`. Deleting a namespace deletes all that is in it.",
  judge: (read) => [...judgeLrps(read), ...judgeNamespaces(read), ...judgeClaims(read)],
};

function uidsOf(read: Readings, ...kinds: readonly string[]): ReadonlySet<string> {
  return new Set(read.objects().flatMap(({ kind, uid }) => (kinds.includes(kind) ? [uid] : [])));
}

function judgeLrps(read: Readings): Found[] {
  const owners = uidsOf(read, "Process");
  const lost = read
    .objects()
    .filter(
      ({ kind, ownerUid, createdAt, deletedAt }) =>
        kind === "LRP" &&
        ownerUid !== undefined &&
        !owners.has(ownerUid) &&
        deletedAt === undefined &&
        read.now() - createdAt > SETTLING_MS,
    );
  return tellOrphans(lost.map(placeOf), "LRP", "kubectl delete lrp -n NAMESPACE NAME ends its instances");
}

function judgeNamespaces(read: Readings): Found[] {
  const owners = uidsOf(read, "Org", "Space");
  const lost = read.namespaces().filter(({ metadata }) => {
    const owner = metadata.labels?.[LABELS.ownerUid];
    const age = read.now() - Date.parse(metadata.creationTimestamp ?? "");
    return owner !== undefined && !owners.has(owner) && !metadata.deletionTimestamp && age > SETTLING_MS;
  });
  return tellOrphans(
    lost.map(({ metadata }) => `Namespace ${metadata.name}`),
    "namespace",
    "kubectl get all -n NAMESPACE, then kubectl delete namespace NAMESPACE",
  );
}

function judgeClaims(read: Readings): Found[] {
  const idOf = (kind: string, namespace: string | undefined, name: string): string =>
    `${kind} ${namespace ?? ""}/${name}`;
  const there = new Set(read.objects().map(({ kind, namespace, name }) => idOf(kind, namespace, name)));
  const lost = read.objects().filter(({ claim, deletedAt }) => {
    if (!claim || deletedAt !== undefined || read.now() - claim.since <= CLAIM_GRACE_MS) return false;
    const { kind, namespace, name } = claim.claimant;
    return !there.has(idOf(kind, namespace, name));
  });
  return tellOrphans(lost.map(placeOf), "Claim", "kubectl delete claim -n cupola-system NAME frees the name");
}

function tellOrphans(places: readonly string[], noun: string, next: string): Found[] {
  if (places.length === 0) return [];
  return [
    {
      what: `${count(places.length, noun)} ${places.length === 1 ? "has" : "have"} no owner`,
      where: nameFirst(places),
      next,
    },
  ];
}

const ending: Check = {
  code: 503,
  title: "deletions come to their end",
  severity: "problem",
  fault: "An object of our kinds, or a namespace of an org or a space, has been ending for over 10 min.",
  mend: "The finding names its finalizers, or what is left in the namespace. The controller of that kind removes its finalizer when its work is done; its log says what it waits for. Remove a finalizer by hand only when the thing outside, such as a service instance of a broker, is gone.",
  judge: (read) => [
    ...read.objects().flatMap((row): Found[] => {
      if (row.deletedAt === undefined || read.now() - row.deletedAt <= ENDING_MS) return [];
      const minutes = Math.floor((read.now() - row.deletedAt) / 60_000);
      const holder = row.finalizers.length === 0 ? "nothing it names" : row.finalizers.join(", ");
      const at = row.namespace === undefined ? "" : ` -n ${row.namespace}`;
      return [
        {
          what: `${row.kind} ${row.name} has been ending for ${minutes} min: ${holder} holds it`,
          where: [placeOf(row)],
          next: `kubectl describe ${row.resource}${at} ${row.name}; kubectl logs -n cupola-system deploy/cupola-controllers`,
        },
      ];
    }),
    ...judgeEndingNamespaces(read),
  ],
};

function judgeEndingNamespaces(read: Readings): Found[] {
  return read.namespaces().flatMap(({ metadata, status }): Found[] => {
    const { name, deletionTimestamp } = metadata;
    const since = read.now() - Date.parse(deletionTimestamp ?? "");
    if (!deletionTimestamp || since <= ENDING_MS) return [];
    const left = status?.conditions
      ?.filter(({ status: is, message }) => is === "True" && message)
      .map(({ message }) => message);
    return [
      {
        what: `Namespace ${name} has been ending for ${Math.floor(since / 60_000)} min: ${left?.[0] ?? "it does not say why"}`,
        where: [`Namespace ${name}`],
        next: `kubectl describe namespace ${name}`,
      },
    ];
  });
}

/** Another check tells more of it. */
function isToldElsewhere({ kind, ready }: ObjectRow): boolean {
  return kind === "ServiceBroker" || kind === "Replica" || ready?.reason === BUILDER_IMAGE_UNUSABLE;
}

const notReady: Check = {
  code: 504,
  title: "objects are ready",
  severity: "note",
  fault:
    "Objects have said Ready=False for over a minute: counted by kind and reason, the oldest named. Tenants' own mistakes are among them.",
  mend: "`kubectl describe KIND -n NAMESPACE NAME` has the message, which says what to do.",
  judge: (read) => [...groupNotReady(read).values()].map(presentGroup),
};

function groupNotReady(read: Readings): Map<string, ObjectRow[]> {
  const rows = read.objects().filter((row) => isNotReady(row, read.now()) && !isToldElsewhere(row));
  return Map.groupBy(rows, ({ kind, ready }) => `${kind}/${ready?.reason ?? ""}`);
}

/** For over a minute, and not because it ends. */
function isNotReady({ ready, deletedAt }: ObjectRow, now: number): boolean {
  return ready?.status === "False" && deletedAt === undefined && now - ready.since > SETTLING_MS;
}

function presentGroup(rows: readonly ObjectRow[]): Found {
  const oldest = rows.toSorted((a, b) => (a.ready?.since ?? 0) - (b.ready?.since ?? 0));
  const { kind = "object", ready, resource = "", name = "", namespace }: Partial<ObjectRow> = oldest[0] ?? {};
  const verb = rows.length === 1 ? "is" : "are";
  return {
    what: `${count(rows.length, kind)} ${verb} not ready (${ready?.reason ?? ""})`,
    where: nameFirst(oldest.map(placeOf)),
    next: `kubectl describe ${resource}${namespace === undefined ? "" : ` -n ${namespace}`} ${name}`,
  };
}

/** Classes whose renderings the platform versions itself. */
const RENDERED_CLASSES: ReadonlySet<string> = new Set(["deployment", "statefulset"]);

const renderings: Check = {
  code: 505,
  title: "this version renders all apps",
  severity: "note",
  fault:
    "An app was started with a rendering that the version of this `cup` does not have. Run the `cup` of the next version before you upgrade to it.",
  mend: "`cf restart APP`, or `cup restart APP`, before the upgrade: the app starts with today's rendering.",
  judge(read) {
    const old = read.objects().filter(({ lrp }) => lrp && RENDERED_CLASSES.has(lrp.class) && !rulesOf(lrp.rendering));
    if (old.length === 0) return [];
    const versions = [...new Set(old.map(({ lrp }) => lrp?.rendering ?? ""))].toSorted();
    return [
      {
        what: `${count(old.length, "LRP")} ${old.length === 1 ? "runs" : "run"} with rendering ${versions.join(", ")}, which version ${read.cupVersion()} does not have`,
        where: nameFirst(old.map(placeOf)),
        next: "cf restart their apps before the upgrade",
      },
    ];
  },
};

const brokers: Check = {
  code: 506,
  title: "service brokers answer",
  severity: "problem",
  fault: "A ServiceBroker says Ready=False for over a minute.",
  mend: "The message has the broker's answer. For credentials: `cf update-service-broker`.",
  judge: (read) =>
    read.objects().flatMap((row): Found[] => {
      if (row.kind !== "ServiceBroker" || !isNotReady(row, read.now())) return [];
      return [
        {
          what: `the broker ${row.name} does not serve (${row.ready?.reason ?? ""}): ${row.ready?.message ?? ""}`,
          where: [placeOf(row)],
          next: `kubectl describe servicebroker -n ${row.namespace ?? ""} ${row.name}`,
        },
      ];
    }),
};

export const registryChecks: readonly Check[] = [images];
export const appChecks: readonly Check[] = [gates, orphans, ending, notReady, renderings, brokers];
