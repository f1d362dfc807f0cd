// Random objects of the kinds that the shipped templates judge, and random changes of them.
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Org } from "../../../crds/org/org.ts";
import { Package } from "../../../crds/package/package.ts";
import { SecurityGroup } from "../../../crds/security-group/security-group.ts";
import { Space } from "../../../crds/space/space.ts";
import { Task } from "../../../crds/task/task.ts";
import { anApp, aDroplet, aProcess, aRoute, makeObject } from "../../../crds/testing/objects.ts";
import type { KubeObject, ObjectMeta } from "../../../kube/api/object.ts";
import type { Random } from "../rbac/random.ts";

type Metadata = Partial<ObjectMeta>;

const sidecar = (name: string) => ({
  name,
  command: "run",
  processTypes: ["web"],
  guid: "00000000-0000-4000-8000-000000000000",
});
const digest = `@sha256:${"a".repeat(64)}`;
const imageOf = (random: Random): string =>
  `${random.pick(["ghcr.io/acme/shop", "ghcr.io/acme-evil/shop", "example.com/x", "docker.io/library/x"])}${random.pick(["", ":1", digest, `:1${digest}`])}`;

function lifecycleOf(random: Random): object {
  const type = random.pick(["buildpack", "cnb", "docker"]);
  return {
    type,
    ...(type !== "docker" && random.chance(60) && { buildpacks: random.some(["java", "go", "php"], 0, 2) }),
  };
}

const MAKERS: Record<string, (random: Random, metadata: Metadata) => KubeObject> = {
  App: (random, metadata) =>
    anApp(
      {
        state: random.pick(["Started", "Stopped"]),
        lifecycle: lifecycleOf(random),
        ...(random.chance(40) && { sidecars: random.some(["proxy", "miner"], 0, 2).map(sidecar) }),
        ...(random.chance(30) && { restart: "x" }),
      },
      { metadata },
    ),
  Process: (random, metadata) =>
    aProcess(
      {
        type: random.pick(["web", "worker"]),
        ...(random.chance(70) && { instances: random.int(4) }),
        ...(random.chance(70) && { memoryMB: random.pick([1, 256, 512, 513, 2048]) }),
        ...(random.chance(50) && { diskMB: random.pick([1, 512, 4096]) }),
      },
      { metadata },
    ),
  Task: (random, metadata) =>
    makeObject(Task, "t", {
      spec: { appRef: { name: "shop" }, command: "true", memoryMB: random.pick([1, 512, 4096]) },
      metadata,
    }),
  Package: (random, metadata) =>
    makeObject(Package, "p", {
      spec: {
        appRef: { name: "shop" },
        ...(random.chance(70) ? { type: "docker", image: imageOf(random) } : { type: "bits" }),
      },
      metadata,
    }),
  Droplet: (random, metadata) => ({
    ...aDroplet({ kind: random.pick(["docker", "cnb"]), image: imageOf(random) }),
    metadata: { ...aDroplet().metadata, ...metadata },
  }),
  Route: (random, metadata) =>
    aRoute(
      {
        domainRef: { name: random.pick(["apps", "example.com", "private"]) },
        host: random.pick(["", "shop", "shop-1", "12", "x", "SHOP".toLowerCase()]),
      },
      { metadata },
    ),
  SecurityGroup: (random, metadata) =>
    makeObject(SecurityGroup, "g", {
      spec: {
        name: random.pick(["g", "s-g"]),
        rules: Array.from({ length: random.int(3) }, () => ({
          ...(random.chance(30) ? { protocol: "all" } : { protocol: "tcp", ports: "80" }),
          destination: random.pick(["0.0.0.0/0", "10.0.0.0/8", "10.0.0.1,0.0.0.0/0", "10.0.0.1-10.0.0.9"]),
        })),
      },
      metadata,
    }),
  Space: (random, metadata) => makeObject(Space, "dev", { spec: { name: random.pick(["dev", "s"]) }, metadata }),
  Org: (random, metadata) => makeObject(Org, "acme", { spec: { name: random.pick(["acme", "s"]) }, metadata }),
};

/** The namespaces where the kinds live; all others are in spaces. */
const PLACES: Record<string, readonly (string | undefined)[]> = {
  Org: [undefined],
  Space: ["acme"],
  SecurityGroup: [SYSTEM_NAMESPACE],
};
const SPACES = ["acme-dev", "acme-prod", "other-dev"];

function labelsOf(random: Random): Record<string, string> | undefined {
  if (random.chance(30)) return undefined;
  const keys = random.some(["owner", "env", "tier", "example.com/owner"], 0, 4);
  return Object.fromEntries(keys.map((key) => [key, random.pick(["ada", "production", "7", "gold", ""])]));
}

export const KINDS = Object.keys(MAKERS);

/** A new object of a random kind. */
export function makeRandomObject(random: Random, kind = random.pick(KINDS)): KubeObject {
  const labels = labelsOf(random);
  const namespace = random.pick(PLACES[kind] ?? SPACES);
  const maker = MAKERS[kind];
  if (!maker) throw new Error(`no objects of ${kind}`);
  const metadata = { ...(namespace !== undefined && { namespace }), ...(labels && { labels }) };
  const {
    metadata: { uid: _, ...rest },
    ...object
  } = maker(random, metadata);
  return rename({ ...object, metadata: rest }, random.pick(["shop", "x", "it"]));
}

/** A Process has the name of its app in its own. */
export function rename(object: KubeObject, name: string): KubeObject {
  if (object.kind !== "Process") return { ...object, metadata: { ...object.metadata, name } };
  const spec = { ...(object["spec"] as { type: string }), appRef: { name } };
  return { ...object, metadata: { ...object.metadata, name: `${name}.${spec.type}` }, spec };
}

/** A change of a stored object: some of its fields, its labels or nothing. */
export function changeObject(random: Random, old: KubeObject): KubeObject {
  const other = makeRandomObject(random, old.kind);
  const [spec, next] = [old["spec"], other["spec"]] as [Record<string, unknown>, Record<string, unknown>];
  const fields = Object.entries(next).filter(([key]) => random.chance(25) && !key.endsWith("Ref"));
  const { labels, ...metadata } = old.metadata;
  const kept = random.chance(60) ? labels : other.metadata.labels;
  return {
    ...old,
    metadata: { ...metadata, ...(kept && { labels: kept }) },
    spec: { ...spec, ...Object.fromEntries(fields) },
  };
}
