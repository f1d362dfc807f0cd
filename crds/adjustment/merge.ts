// Merges judged patches into a pod template. The platform's own fields win: its labels, its tolerations, a grace that is long enough to drain. Pure.
import { isReservedKey } from "../labels.ts";
import type { ContainerPatch, PodPatch, PodSpecPatch } from "./judge.ts";

/** The part of a pod template that is adjusted. */
export interface AdjustableTemplate {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: Record<string, unknown>;
}

/** Lists that a patch adds to; others it replaces. */
const ADDED_LISTS: ReadonlySet<string> = new Set(["tolerations", "hostAliases"]);
const MERGED_MAPS: ReadonlySet<string> = new Set(["nodeSelector", "affinity", "dnsConfig"]);

/** The template with the patch. A container that the template does not have is left out. */
export function adjustTemplate<Template extends AdjustableTemplate>(template: Template, patch: PodPatch): Template {
  const { labels, annotations } = patch.metadata ?? {};
  return {
    ...template,
    metadata: {
      labels: { ...withoutReserved(labels), ...template.metadata.labels },
      annotations: { ...annotations, ...template.metadata.annotations },
    },
    spec: mergeSpec(template.spec, patch.spec ?? {}),
  };
}

/** Makes several patches one, in their order: of a field in two of them the later one counts. */
export function foldPatches(patches: readonly PodPatch[]): PodPatch {
  return patches.reduce<PodPatch>((before, after) => {
    const metadata = foldMetadata(before.metadata, after.metadata);
    const spec = foldSpec(before.spec, after.spec);
    return {
      ...(hasKeys(metadata.labels, metadata.annotations) && { metadata }),
      ...(hasKeys(spec) && { spec }),
    };
  }, {});
}

function foldMetadata(
  before: PodPatch["metadata"],
  after: PodPatch["metadata"],
): Required<NonNullable<PodPatch["metadata"]>> {
  return {
    labels: { ...before?.labels, ...after?.labels },
    annotations: { ...before?.annotations, ...after?.annotations },
  };
}

function foldSpec(before: PodSpecPatch = {}, after: PodSpecPatch = {}): PodSpecPatch {
  const containers = foldContainers(before.containers, after.containers);
  return { ...mergeFields(before, after), ...(containers.length > 0 && { containers }) };
}

function hasKeys(...all: readonly object[]): boolean {
  return all.some((one) => Object.keys(one).length > 0);
}

function withoutReserved(labels: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !isReservedKey(key)));
}

function mergeSpec(spec: Record<string, unknown>, patch: PodSpecPatch): Record<string, unknown> {
  const containers = (spec["containers"] ?? []) as Container[];
  return {
    ...mergeFields(spec, patch),
    containers: containers.map((one) =>
      adjustContainer(
        one,
        patch.containers?.find(({ name }) => name === one.name),
      ),
    ),
  };
}

/** All fields but the containers. */
function mergeFields(spec: Record<string, unknown>, patch: PodSpecPatch): Record<string, unknown> {
  const { containers: _ours, ...before } = spec;
  const { containers: _theirs, ...after } = patch;
  const merged = Object.entries(after).map(([name, value]) => [name, mergeField(name, before[name], value)]);
  return { ...before, ...(Object.fromEntries(merged) as Record<string, unknown>) };
}

function mergeField(name: string, before: unknown, after: unknown): unknown {
  if (before === undefined) return after;
  if (ADDED_LISTS.has(name)) return [...(before as unknown[]), ...(after as unknown[])];
  if (MERGED_MAPS.has(name)) return { ...(before as object), ...(after as object) };
  // A shorter grace would cut requests off.
  if (name === "terminationGracePeriodSeconds") return Math.max(before as number, after as number);
  return after;
}

interface Container {
  name: string;
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
}

function adjustContainer(container: Container, patch: ContainerPatch | undefined): Container {
  if (!patch?.resources) return container;
  const requests = { ...container.resources?.requests, ...patch.resources.requests };
  const limits = { ...container.resources?.limits, ...patch.resources.limits };
  const { cpu } = requests;
  // Kubernetes refuses a request above the limit.
  const atMost = cpu !== undefined && limits["cpu"] !== undefined && toMillis(cpu) > toMillis(limits["cpu"]);
  return { ...container, resources: { requests: { ...requests, ...(atMost && { cpu: limits["cpu"] }) }, limits } };
}

function toMillis(quantity: string): number {
  return quantity.endsWith("m") ? Number(quantity.slice(0, -1)) : Number(quantity) * 1000;
}

function foldContainers(
  before: readonly ContainerPatch[] = [],
  after: readonly ContainerPatch[] = [],
): ContainerPatch[] {
  const names = new Set([...before, ...after].map(({ name }) => name));
  return [...names].map((name) => {
    const both = [...before, ...after].filter((one) => one.name === name);
    const requests = Object.assign({}, ...both.map(({ resources }) => resources?.requests)) as { cpu?: string };
    const limits = Object.assign({}, ...both.map(({ resources }) => resources?.limits)) as { cpu?: string };
    return {
      name,
      resources: { ...(hasKeys(requests) && { requests }), ...(hasKeys(limits) && { limits }) },
    };
  });
}
