// Context of every command that calls a platform.
import { omitUndefined } from "../kube/api/omit-undefined.ts";
import { apiClient, type ApiClient, type Resource } from "./api/client.ts";
import { Failure } from "./failure.ts";
import type { Progress } from "./output.ts";
import { writeOrgAndSpace, type Config } from "./target/config.ts";
import { authorizationOf, resolveTarget, trustOf, type Target } from "./target/resolve-target.ts";

interface Named {
  guid: string;
  name: string;
}

export interface Context {
  target: Target;
  api: ApiClient;
  progress: Progress;
  /** The targeted org. @throws Failure (target) */
  org(): Promise<Named>;
  /** The targeted space. @throws Failure (target) */
  space(): Promise<Named>;
  /** Asks for the space before it is needed. Tells nothing and throws nothing: whoever calls `space` is told. */
  prefetchSpace(): void;
  /** An app of the targeted space by name. @throws Failure */
  app(name: string): Promise<Resource>;
}

/** The context of the current target. @throws Failure (target) */
export async function makeContext(progress: Progress): Promise<Context> {
  const target = resolveTarget();
  const api = apiClient(target.api, await authorizationOf(target), {
    trust: trustOf(target),
    onWarning: (text) => progress.step(text),
  });
  return contextFor(target, api, progress, (chosen) =>
    rememberSpace({ ...omitUndefined({ home: target.home }), ...chosen }),
  );
}

/** An implicit target stays the target when there are more spaces later. */
function rememberSpace(chosen: Pick<Config, "org" | "space" | "home">): void {
  try {
    writeOrgAndSpace(chosen);
  } catch {
    return; // a folder that cannot be written: the next command asks again
  }
}

/** The context of a target. Without a targeted org or space the only one there is counts, and `onOnly` is told which. */
export function contextFor(
  target: Target,
  api: ApiClient,
  progress: Progress,
  onOnly: (chosen: { org: Named; space: Named }) => void = () => undefined,
): Context {
  const org = once<Named>(async () => target.org ?? getOnly(api, "/v3/organizations", "org"));
  const findSpace = once<{ found: Named; of?: Named }>(async () => {
    if (target.space) return { found: target.space };
    const { guid, name } = await org();
    const found = await getOnly(api, "/v3/spaces", "space", { organization_guids: guid });
    return { found, of: { guid, name } };
  });
  const space = once<Named>(async () => {
    const { found, of } = await findSpace();
    if (of) {
      progress.step(`Using space ${found.name} of org ${of.name}, the only one; cup target chooses another`);
      onOnly({ org: of, space: { guid: found.guid, name: found.name } });
    }
    return found;
  });
  return {
    target,
    api,
    progress,
    org,
    space,
    prefetchSpace: () => void findSpace().catch(() => undefined),
    app: async (name) => getNamed(api, "/v3/apps", name, { space_guids: (await space()).guid }),
  };
}

/** Before a second org or space is made: the only one stays the target. */
export async function keepImplicitTarget({ target, space }: Context): Promise<void> {
  if (!target.space) await space().catch(() => undefined); // none, or several already
}

/** Asks once, and again only after a failure. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () =>
    (asked ??= ask().catch((error: unknown) => {
      asked = undefined;
      throw error;
    }));
}

async function getOnly(
  api: ApiClient,
  path: string,
  what: string,
  query: Record<string, string> = {},
): Promise<Resource> {
  const found = await api.list(path, query);
  const [first, ...more] = found;
  if (!first) throw new Failure(`you have no ${what}`, { kind: "target", next: `cup create-${what} NAME` });
  if (more.length === 0) return first;
  throw new Failure(`which ${what}? There are ${found.length}: ${listNames(found)}`, {
    kind: "target",
    next: `cup target --${what} NAME`,
  });
}

const MAX_LISTED = 10;

function listNames(resources: readonly Resource[]): string {
  const names = resources.slice(0, MAX_LISTED).map(({ name }) => name);
  return [...names, ...(resources.length > MAX_LISTED ? ["…"] : [])].join(", ");
}

/** An object by name. @throws Failure when it does not exist */
export async function getNamed(
  api: ApiClient,
  path: string,
  name: string,
  query: Record<string, string> = {},
): Promise<Resource> {
  const what = path.split("/").at(-1)?.replace(/s$/, "") ?? "object";
  const [found] = await api.list(path, { names: encodeURIComponent(name), ...query });
  if (!found)
    throw new Failure(`${what} ${name} does not exist, or you may not see it`, {
      next: what === "app" ? "cup apps" : `cup ${what === "organization" ? "org" : what}s`,
    });
  return found;
}
