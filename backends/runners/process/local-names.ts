// A hosts file for apps and tasks, in which names of routes below `localhost` are this machine: RFC 6761 says they are, most resolvers of Linux do not.
// A resolver knows no wildcards in such a file, so it follows the routes.
import { mkdir, open, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Store } from "../../../kube/cache/reader.ts";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";

const SYSTEM_HOSTS = "/etc/hosts";
/** A resolver reads the whole file at each lookup. */
const MAX_NAMES = 5_000;
/** Routes that change together are written together. */
const SETTLE_MS = 20;

/** The text of the file: what the system's own says, then the names. Pure. */
export function toHostsText(system: string, hostnames: Iterable<string>): string {
  const names = [...new Set([...hostnames].map((name) => name.toLowerCase()))]
    .filter((name) => /^[a-z0-9._-]*[a-z0-9_-]\.localhost$/.test(name))
    .sort()
    .slice(0, MAX_NAMES);
  const end = system === "" || system.endsWith("\n") ? "" : "\n";
  return `${system}${end}${names.map((name) => `127.0.0.1 ${name}\n`).join("")}`;
}

export interface LocalNames {
  /** Brings the file up to date, also with the system's own. @throws Error when it cannot be written */
  write(): Promise<void>;
  stop(): void;
}

/** Keeps `file` as the routes say, until `stop`. */
export function followLocalNames(
  file: string,
  routes: Pick<Store<RouteBinding>, "onChange" | "list">,
  onError: (error: unknown) => void,
): LocalNames {
  let written: string | undefined;
  let running: Promise<void> = Promise.resolve();
  const write = (): Promise<void> =>
    (running = running
      .catch(() => undefined) // whoever asked was told
      .then(async () => {
        const system = await readFile(SYSTEM_HOSTS, "utf8").catch(() => "127.0.0.1 localhost\n");
        const text = toHostsText(
          system,
          routes.list({ partial: true }).map(({ spec }) => spec.hostname),
        );
        if (text !== written) await overwrite(file, text);
        written = text;
      }));
  let timer: NodeJS.Timeout | undefined;
  const unsubscribe = routes.onChange(() => {
    timer ??= setTimeout(() => {
      timer = undefined;
      write().catch(onError);
    }, SETTLE_MS).unref();
  });
  return {
    write,
    stop: () => {
      clearTimeout(timer);
      unsubscribe();
    },
  };
}

/** In place: programs that run have this very file mounted, and another of its name would be unknown to them. The system's own lines stay where they are meanwhile. */
async function overwrite(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const handle = await open(file, "a+", 0o644).then(async (made) => {
    await made.close();
    return open(file, "r+");
  });
  try {
    const bytes = Buffer.from(text);
    await handle.write(bytes, 0, bytes.length, 0);
    await handle.truncate(bytes.length);
  } finally {
    await handle.close();
  }
}
