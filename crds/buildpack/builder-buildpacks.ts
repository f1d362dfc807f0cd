// The buildpacks of a builder image by the names that users give them, and as its class publishes them. Pure.

/** The capability of a builder class that lists the ids of its buildpacks. */
const CAPABILITY = "buildpacks";
const MAX_CAPABILITY_LENGTH = 1024;
/** At the end of a list that is longer than a capability may be. */
const AND_MORE = "...";

/** Names in builder images of the buildpacks that Cloud Foundry calls otherwise. */
const OTHER_NAMES: Readonly<Record<string, string>> = { binary: "procfile", staticfile: "web-servers" };

export interface BuildpackName {
  /** The ids that the name can mean; several when it is not clear. */
  ids: readonly string[];
  version: string | undefined;
}

/** Accepts `<id>`, `<id>@<version>`, and the last part of an id, also with cf's ending `_buildpack` and by the names of cf's own (`dotnet_core`, `staticfile`, `binary`). @param known ids */
export function resolveBuildpackName(name: string, known: readonly string[]): BuildpackName {
  const [, wanted = name, version] = /^(?:urn:cnb:builder:)?([^@]+)(?:@(.+))?$/.exec(name) ?? [];
  if (known.includes(wanted)) return { ids: [wanted], version };
  const short = wanted.toLowerCase().replace(/[-_]buildpack$/, "");
  const called = (name: string | undefined): string[] =>
    known.filter((id) => id.slice(id.lastIndexOf("/") + 1).toLowerCase() === name);
  const ids =
    [short, short.replaceAll("_", "-"), OTHER_NAMES[short]].map(called).find(({ length }) => length > 0) ?? [];
  return { ids, version };
}

/** The capability for these ids; none without any. */
export function toBuildpackCapability(ids: readonly string[]): Record<string, string> {
  const kept: string[] = [];
  let length = AND_MORE.length;
  for (const id of ids.toSorted()) {
    length += id.length + 1;
    if (length > MAX_CAPABILITY_LENGTH) return { [CAPABILITY]: [...kept, AND_MORE].join(",") };
    kept.push(id);
  }
  return kept.length > 0 ? { [CAPABILITY]: kept.join(",") } : {};
}

/** Whether a class with these capabilities may have a buildpack of the name: the build decides where the list is cut. */
export function mayHaveBuildpack(capabilities: Readonly<Record<string, string>> | undefined, name: string): boolean {
  const ids = capabilities?.[CAPABILITY]?.split(",") ?? [];
  return ids.at(-1) === AND_MORE || resolveBuildpackName(name, ids).ids.length > 0;
}
