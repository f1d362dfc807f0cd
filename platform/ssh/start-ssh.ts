// Starts the operation `ssh-proxy`: `cf ssh` into the instances of apps.
import type { App } from "../../crds/app/app.ts";
import { guidOf, newGUID } from "../../crds/guid.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import type { AuditEvent } from "../../crds/audit-log/audit-log.ts";
import { createSSHCodes, type SSHCodes } from "../../api/identity/ssh-codes.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { openInPod } from "../../backends/pods/pod-shell.ts";
import { InstanceAway, type OpenRemoteProcess } from "../../backends/remote-process.ts";
import { findTenancy } from "../../controllers/shared/tenancy.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { createPlaces } from "../../kube/server/places.ts";
import { type AuditWriter, createAuditWriter } from "../../telemetry/audit/audit-writer.ts";
import type { PlatformContext } from "../platform-context.ts";
import { retryUntilSuccess } from "../startup.ts";
import { createAuthorizer, findRunningLRP, type SSHTarget } from "./authorize.ts";
import { readHostKey } from "./host-key.ts";
import { SSH_WATCHES } from "./permissions.ts";
import { createSSHServer, type AuthorizedTarget, type SSHServerOptions } from "./ssh-server.ts";

const MAX_SESSIONS_OF_APP = 20;
/** So that nobody takes all connections. */
const MAX_CONNECTIONS_OF_USER = 40;
/** Between two removals of codes that nobody used. */
const SWEEP_MS = 5 * 60_000;

/** Resolves to the port where it listens; a port that is taken is replaced by any other. @throws the abort reason of `signal` */
export async function startSSHOperation(context: PlatformContext, at: { host: string; port: number }): Promise<number> {
  const { client, informers, disposables, readiness, log, signal, membership } = context;
  const watches = SSH_WATCHES.map((ref) => informers.ensure(ref));
  const audit = createAuditWriter({ client, writer: membership.identity, log });
  disposables.defer(() => {
    for (const watch of watches) watch.release();
    return audit.close();
  });
  readiness.addCheck("ssh", () => watches.every(({ store }) => store.synced) || "caches not synced");
  const { privateKey } = await retryUntilSuccess("ssh key", () => readHostKey(client), { readiness, signal, log });
  const codes = createSSHCodes({ client, now });
  const server = createSSHServer({ hostKey: privateKey, log, authorize: authorization(context, { audit, codes }) });
  removeCodes(codes, context);
  disposables.defer(() => server.close());
  return server.listen(at.host, at.port).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    return server.listen(at.host, 0);
  });
}

const now = (): Date => new Date();

/** At the start, and then at intervals: each replica does it, and one that comes late finds nothing. */
function removeCodes(codes: SSHCodes, { log, disposables }: PlatformContext): void {
  const remove = (): void =>
    void codes.removeExpired().catch((err: unknown) => log.warn({ err }, "expired codes of cf ssh were not removed"));
  const timer = setInterval(remove, SWEEP_MS).unref();
  disposables.defer(() => clearInterval(timer));
  remove();
}

/** Judges logins, records those of a known app, and says what an authorized one opens. */
function authorization(
  context: PlatformContext,
  { audit, codes }: { audit: AuditWriter; codes: SSHCodes },
): SSHServerOptions["authorize"] {
  const { client, log, informers } = context;
  const authorizer = createAuthorizer({ client, read: informers.read, codes });
  const places = createPlaces(MAX_SESSIONS_OF_APP);
  const connections = createPlaces(MAX_CONNECTIONS_OF_USER);
  const toTarget = (target: SSHTarget): AuthorizedTarget => ({
    open: (request) => openInstance(context, target, request),
    isStillAllowed: () => authorizer.isAllowed(target),
    takePlace: () => places.take(guidOf(target.app)),
    takeConnection: () => connections.take(target.who.name),
    onError: (err) => log.warn({ err }, "a program beside an instance failed"),
  });
  const record = (outcome: "authorized" | "unauthorized", app: App, more: { who: string; index?: number }): void =>
    audit.record(app.metadata.namespace ?? "", toEvent(informers.read, outcome, { app, ...more, now: now() }));
  return async (user, code) => {
    try {
      const found = await authorizer.authorize(user, code);
      if (!("reason" in found)) {
        record("authorized", found.app, { who: found.who.name, index: found.index });
        return toTarget(found);
      }
      log.info({ reason: found.reason, user: found.who }, "an SSH login was refused");
      if (found.app) record("unauthorized", found.app, { who: found.who ?? "" });
    } catch (err) {
      log.warn({ err }, "an SSH login could not be judged");
    }
    return undefined;
  };
}

type Opened = ReturnType<OpenRemoteProcess>;

async function openInstance(
  { client, informers: { read }, remoteProcesses }: PlatformContext,
  { processGUID, index }: SSHTarget,
  request: Pick<Parameters<OpenRemoteProcess>[0], "command" | "terminal">,
): Opened {
  const lrp = findRunningLRP(read, processGUID);
  if (!lrp?.status?.instances?.some((instance) => instance.index === index && instance.state === "Running"))
    throw new InstanceAway(`Instance ${index} is not running.`);
  const { class: runner } = lrp.spec;
  const open = remoteProcesses.find(runner) ?? (takesExec(read, runner) ? openInPod(client) : undefined);
  if (!open) throw new InstanceAway(`The runner ${runner} opens no shells. Run a command with cf run-task.`);
  return open({ ...request, lrp, index });
}

function takesExec(read: Reader, runner: string): boolean {
  return read.find(BackendClass, { name: runner })?.status?.capabilities?.["ssh"] === "exec";
}

function toEvent(
  read: Reader,
  outcome: "authorized" | "unauthorized",
  { app, who, index, now }: { app: App; who: string; index?: number; now: Date },
): AuditEvent {
  const tenancy = findTenancy(read, app.metadata.namespace ?? "");
  return {
    guid: newGUID(now.getTime()),
    at: now.toISOString(),
    type: `audit.app.ssh-${outcome}`,
    actor: { guid: who, type: "user", name: who },
    target: { guid: guidOf(app), type: "app", name: displayNameOf(app) },
    ...(tenancy && { spaceGUID: tenancy.space.guid, orgGUID: tenancy.org.guid }),
    ...(index !== undefined && { data: JSON.stringify({ index }) }),
  };
}
