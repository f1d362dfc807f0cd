// Promises of the API's answers, and whether they hold after a restart.
import { expect } from "vitest";
import type { Api } from "../support/api.ts";
import type { Exchange, RecordingProxy } from "../support/recording-proxy.ts";

interface Body {
  links?: { self?: { href: string } };
  relationships?: { app?: { data?: { guid: string } } };
  [field: string]: unknown;
}

interface AcknowledgedWrite {
  /** Expected answer of a read. */
  fields: object;
  /** The app with which it goes; its own path when it is one. */
  owner: string;
  at: number;
}

/** Fields that change without anybody asking. */
const MOVING = [
  "updated_at",
  "links",
  "relationships",
  "state",
  "data",
  "droplet",
  "error",
  "checksum",
  "image",
  "usage",
];

/**
 * Looks up every write that was answered. Where a later write to the same object was not answered, both ends are right.
 * `deleted`: apps whose deletion was asked for, by name.
 */
export async function expectAcknowledged(
  api: Api,
  { exchanges, unanswered }: Pick<RecordingProxy, "exchanges" | "unanswered">,
  deleted: ReadonlySet<string>,
): Promise<void> {
  const acknowledged = new Map<string, AcknowledgedWrite>();
  const deletedPaths = new Set<string>();
  exchanges.forEach((exchange, at) => {
    if (!isDone(exchange)) return;
    if (exchange.method === "DELETE") deletedPaths.add(exchange.path);
    else recordWrite(acknowledged, exchange, at);
  });
  for (const path of deletedPaths) expect((await api.send("GET", path)).status, `${path} was deleted`).toBe(404);
  const maybeDeletedPaths = new Set([
    ...deletedPaths,
    ...unanswered.filter(({ method }) => method === "DELETE").map(({ path }) => path),
  ]);
  for (const [path, { fields, owner, at }] of acknowledged) {
    if (maybeDeletedPaths.has(owner)) continue;
    const { status, text } = await api.send("GET", path);
    expect(status, `${path} was acknowledged`).toBe(200);
    if (!unanswered.some((write) => write.method !== "GET" && guidIn(write.path) === guidIn(path) && write.after > at))
      expect(JSON.parse(text), path).toMatchObject(fields);
  }
  await expectApplied(api, exchanges, deleted);
}

function isDone({ method, status }: Exchange): boolean {
  return method !== "GET" && status >= 200 && status < 300;
}

function recordWrite(acknowledged: Map<string, AcknowledgedWrite>, { body }: Exchange, at: number): void {
  const answer = parse(body);
  const self = answer.links?.self?.href;
  if (!self) return;
  const path = new URL(self).pathname;
  const app = answer.relationships?.app?.data?.guid ?? (path.startsWith("/v3/apps/") ? guidIn(path) : undefined);
  const isApp = path === `/v3/apps/${app}`;
  const fields = Object.fromEntries(
    Object.entries(answer).filter(
      ([field]) =>
        !MOVING.includes(field) ||
        (isApp && field === "state") ||
        (path.includes("/relationships/") && field === "data"),
    ),
  );
  acknowledged.set(path, { fields, owner: app ? `/v3/apps/${app}` : path, at });
}

/** An applied manifest has made its app. */
async function expectApplied(api: Api, exchanges: readonly Exchange[], deleted: ReadonlySet<string>): Promise<void> {
  const applied = exchanges.filter((exchange) => isDone(exchange) && exchange.path.endsWith("/actions/apply_manifest"));
  for (const { requestBody } of applied) {
    const name = /name: "?([\w-]+)/.exec(requestBody.toString())?.[1] ?? "";
    if (deleted.has(name)) continue;
    const { resources } = await api.call<{ resources: object[] }>("GET", `/v3/apps?names=${name}`);
    expect(resources, `app ${name}, whose manifest was applied`).toHaveLength(1);
  }
}

/** The web process has its app's GUID, so what happens to the one happens to the other. */
function guidIn(path: string): string | undefined {
  return path.split("?")[0]?.split("/")[3];
}

function parse(body: Buffer): Body {
  try {
    return JSON.parse(body.toString()) as Body;
  } catch {
    return {}; // answers without a body, such as that of a delete
  }
}
