// Constraints of the shipped templates, each with an object that it allows and one that it denies.
import { Package } from "../../../crds/package/package.ts";
import { SecurityGroup } from "../../../crds/security-group/security-group.ts";
import { Space } from "../../../crds/space/space.ts";
import { Task } from "../../../crds/task/task.ts";
import { anApp, aDroplet, aProcess, aRoute, makeObject } from "../../../crds/testing/objects.ts";
import type { KubeObject } from "../../../kube/api/object.ts";

export interface ShippedCase {
  kind: string;
  parameters: object;
  good: KubeObject;
  bad: KubeObject;
  message: string;
}

const withLabels = (labels: Record<string, string>) => ({ metadata: { labels } });
const imagePackage = (image: string) =>
  makeObject(Package, "p1", { spec: { appRef: { name: "shop" }, type: "docker", image } });
const aGroup = (destination: string) =>
  makeObject(SecurityGroup, "g", { spec: { name: "g", rules: [{ protocol: "tcp", destination, ports: "80" }] } });
const aSpace = (labels: Record<string, string>) =>
  makeObject(Space, "new", { spec: { name: "new" }, metadata: { namespace: "acme", labels } });
const aTask = (memoryMB: number) =>
  makeObject(Task, "t", { spec: { appRef: { name: "shop" }, command: "true", memoryMB } });
const withSidecar = (name: string) =>
  anApp({ sidecars: [{ name, command: "run", processTypes: ["web"], guid: "00000000-0000-4000-8000-000000000000" }] });
const withBuildpacks = (...buildpacks: string[]) => anApp({ lifecycle: { type: "buildpack", buildpacks } });

export const SHIPPED_CASES: readonly ShippedCase[] = [
  {
    kind: "RequiredLabels",
    parameters: { labels: [{ key: "owner", pattern: "^[a-z]+$" }, { key: "it.s" }] },
    good: anApp({}, withLabels({ owner: "team", "it.s": "" })),
    bad: anApp({}, withLabels({ owner: "7" })),
    message: "needs the label owner that matches ^[a-z]+$, it.s",
  },
  {
    kind: "RequiredLabels",
    parameters: { labels: [{ key: "owner" }] },
    good: aSpace({ owner: "x" }),
    bad: aSpace({}),
    message: "needs the label owner",
  },
  {
    kind: "AllowedImages",
    parameters: { prefixes: ["ghcr.io/acme/", "registry.example"] },
    good: imagePackage("registry.example/shop:1"),
    bad: imagePackage("ghcr.io/acme-evil/shop:1"),
    message: "the image ghcr.io/acme-evil/shop:1 is not from ghcr.io/acme/, registry.example",
  },
  {
    kind: "AllowedImages",
    parameters: { prefixes: ["example.com/"], digestOnly: true },
    good: aDroplet({ image: `example.com/x@sha256:${"a".repeat(64)}` }),
    bad: aDroplet({ image: "example.com/x:1" }),
    message: "name the image by its digest, as image@sha256:…",
  },
  {
    kind: "AllowedImages",
    parameters: { prefixes: [] },
    good: makeObject(Package, "p1", { spec: { appRef: { name: "shop" }, type: "bits" } }),
    bad: imagePackage("ghcr.io/acme/shop:1"),
    message: "the image ghcr.io/acme/shop:1 is refused, as any image",
  },
  {
    kind: "AllowedBuildpacks",
    parameters: { names: ["java", "go"] },
    good: withBuildpacks("go"),
    bad: withBuildpacks("go", "php"),
    message: "the buildpacks are java, go",
  },
  {
    kind: "AllowedBuildpacks",
    parameters: { names: ["java"], allowDetection: false },
    good: anApp({ lifecycle: { type: "docker" } }),
    bad: anApp(),
    message: "name a buildpack (cf push -b): java",
  },
  {
    kind: "SizeLimit",
    parameters: { maxMemoryMB: 512 },
    good: aProcess({ memoryMB: 512, diskMB: 4096 }),
    bad: aProcess({ memoryMB: 513 }),
    message: "at most 512 MB of memory",
  },
  {
    kind: "SizeLimit",
    parameters: { maxMemoryMB: 512, maxDiskMB: 2048 },
    good: aTask(512),
    bad: aTask(1024),
    message: "at most 512 MB of memory",
  },
  {
    kind: "SizeLimit",
    parameters: { maxCPU: "1.5" },
    good: aProcess({ cpu: "1500m" }),
    bad: aProcess({ cpu: "2" }),
    message: "at most 1.5 of CPU",
  },
  {
    kind: "MinimumInstances",
    parameters: { min: 2 },
    good: aProcess({ instances: 0 }),
    bad: aProcess({ instances: 1 }),
    message: "needs at least 2 instances",
  },
  {
    kind: "DomainsDenied",
    parameters: { domains: ["apps"] },
    good: aRoute({ domainRef: { name: "private" } }),
    bad: aRoute(),
    message: "no routes on the domain apps",
  },
  {
    kind: "HostPattern",
    parameters: { pattern: "[a-z]+" },
    good: aRoute({ host: "shop" }),
    bad: aRoute({ host: "shop-1" }),
    message: "the host name must match [a-z]+",
  },
  {
    kind: "HostPattern",
    parameters: { pattern: "[a-z]{1,3}|\\d+", allowApex: true },
    good: aRoute({ host: "" }),
    bad: aRoute({ host: "shop1" }),
    message: "the host name must match [a-z]{1,3}|\\d+",
  },
  {
    kind: "AllowedSidecars",
    parameters: { allowed: ["proxy"] },
    good: withSidecar("proxy"),
    bad: withSidecar("miner"),
    message: "the sidecars are proxy",
  },
  {
    kind: "AllowedSidecars",
    parameters: { allowed: [] },
    good: anApp(),
    bad: withSidecar("miner"),
    message: "no sidecar is allowed",
  },
  {
    kind: "LifecyclesDenied",
    parameters: { types: ["docker"] },
    good: anApp(),
    bad: anApp({ lifecycle: { type: "docker" } }),
    message: "no apps with the lifecycle docker",
  },
  {
    kind: "EgressLimit",
    parameters: { denied: ["0.0.0.0/0"] },
    good: aGroup("10.0.0.0/8"),
    bad: aGroup("10.0.0.1,0.0.0.0/0"),
    message: "no rule for all protocols, and none to 0.0.0.0/0",
  },
];
