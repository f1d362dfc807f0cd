// Router groups: router classes that serve TCP routes, with the ports that their operator gives them. Pure.
import { deriveGUID } from "../guid.ts";
import type { BackendClass } from "./backend-class.ts";

/** Parameters of a router class. */
export const TCP_PORTS = "tcpPorts";
export const TCP_GROUP_NAME = "tcpGroup";

export interface PortRange {
  first: number;
  last: number;
}

export interface RouterGroup {
  guid: string;
  /** As `cf router-groups` shows it. */
  name: string;
  className: string;
  /** Such as `1024-1123,2000`, without blanks. */
  ports: string;
  ranges: readonly PortRange[];
}

type RouterClass = Pick<BackendClass, "metadata" | "spec">;

export function routerGroupGUID(className: string): string {
  return deriveGUID("router-group", className);
}

/** Undefined for a class that has no TCP ports, or whose ports are no list of numbers and ranges. */
export function findRouterGroup({
  metadata: { name },
  spec: { role, parameters = {} },
}: RouterClass): RouterGroup | undefined {
  const ports = (parameters[TCP_PORTS] ?? "").replaceAll(/\s/g, "");
  const ranges = parsePorts(ports);
  if (role !== "router" || !ranges) return undefined;
  return {
    guid: routerGroupGUID(name),
    name: parameters[TCP_GROUP_NAME] || name,
    className: name,
    ports,
    ranges,
  };
}

/** Sorted by name. */
export function listRouterGroups(classes: readonly RouterClass[]): RouterGroup[] {
  return classes
    .flatMap((one) => findRouterGroup(one) ?? [])
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

export function hasPort({ ranges }: Pick<RouterGroup, "ranges">, port: number): boolean {
  return ranges.some(({ first, last }) => first <= port && port <= last);
}

/** A random free port, so that two who ask at once seldom get the same; undefined when all are taken. @param random in [0, 1) */
export function findFreePort(
  { ranges }: Pick<RouterGroup, "ranges">,
  taken: ReadonlySet<number>,
  random: number,
): number | undefined {
  const free = ranges
    .flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_none, at) => first + at))
    .filter((port) => !taken.has(port));
  return free[Math.floor(random * free.length)];
}

function parsePorts(text: string): PortRange[] | undefined {
  const ranges = text.split(",").map((part): PortRange | undefined => {
    const [, first = "", last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part) ?? [];
    const range = { first: Number(first), last: Number(last) };
    return first !== "" && range.first >= 1 && range.last <= 65535 && range.first <= range.last ? range : undefined;
  });
  return ranges.every((range) => range !== undefined) ? ranges : undefined;
}
