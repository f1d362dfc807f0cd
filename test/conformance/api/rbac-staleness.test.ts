// How far behind RBAC the API may be, on a real kube-apiserver: changes count within milliseconds, silence is not believed, and who may not look says so.
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  createRbacAuthorizer,
  rbacKinds,
  type AccessAttributes,
  type RbacAuthorizer,
  type RbacWatch,
} from "../../../api/cache/rbac-authorizer.ts";
import { toCFError } from "../../../api/http/error-translation.ts";
import { App } from "../../../crds/app/app.ts";
import { ClusterRole, ClusterRoleBinding, Namespace, RoleBinding } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import type { RbacKind } from "../../../kube/rbac/types.ts";
import { NotPermitted } from "../../../kube/cache/errors.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { createInformers, type Informers } from "../../../kube/cache/informers.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane.ts";

const reason = whyNoControlPlane();
const log = pino({ level: "silent" });
/** The bound of this test; the real one is a minute. */
const boundMs = 4000;
const user = { name: "ann", groups: ["system:authenticated"] };
const asked: AccessAttributes = { verb: "get", on: App, namespace: "sight" };
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" };

/** Passes bytes on, until told to keep back what the server says. */
async function startRelay(to: string): Promise<{ url: string; hush(quiet: boolean): void; stop(): Promise<void> }> {
  const { port } = new URL(to);
  const pairs = new Set<[Socket, Socket]>();
  let hushed = false;
  const server: Server = createServer((client) => {
    const upstream = dial({ host: "127.0.0.1", port: Number(port) });
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    client.pipe(upstream).pipe(client);
    if (hushed) upstream.unpipe(client);
    for (const [one, other] of [pair, [upstream, client] as const])
      one.on("error", () => other.destroy()).on("close", () => other.destroy() && pairs.delete(pair));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hush(quiet) {
      hushed = quiet;
      for (const [client, upstream] of pairs) quiet ? upstream.unpipe(client) : upstream.pipe(client);
    },
    async stop() {
      for (const [client, upstream] of pairs) for (const one of [client, upstream]) one.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe.skipIf(reason !== undefined)(`sight of RBAC${reason ? `: skipped, ${reason}` : ""}`, () => {
  let plane: ControlPlane;
  let relay: Awaited<ReturnType<typeof startRelay>>;
  let admin: KubeClient;
  let client: KubeClient;
  let informers: Informers;
  let authorization: RbacAuthorizer;

  beforeAll(async () => {
    plane = await startControlPlane({ users: [{ token: "looker-token", user: "looker" }], controllers: false });
    relay = await startRelay(plane.url);
    admin = createClient({ server: plane.url, ca: plane.ca, auth: { kind: "token", token: plane.adminToken } });
    await admin.create(Namespace, { metadata: { name: "sight" } });
    await admin.create(ClusterRole, {
      metadata: { name: "reader" },
      rules: [{ verbs: ["get"], apiGroups: ["cupola.dev"], resources: ["apps"] }],
    });
    await admin.create(ClusterRole, {
      metadata: { name: "looker" },
      rules: [{ verbs: ["list", "watch"], apiGroups: ["rbac.authorization.k8s.io"], resources: ["*"] }],
    });
    await allowLooking();
    client = createClient({ server: relay.url, ca: plane.ca, auth: { kind: "token", token: "looker-token" } });
    informers = createInformers({
      client,
      log,
      timing: { backoff: { minMs: 50, maxMs: 500, jitter: 0 }, parked: { minMs: 100, maxMs: 500, jitter: 0 } },
    });
    const watched = Object.fromEntries(
      Object.entries(rbacKinds).map(([kind, ref]) => [
        kind,
        informers.ensure(ref as ResourceRef, { maxStalenessMs: boundMs }),
      ]),
    ) as unknown as Record<RbacKind, RbacWatch>;
    authorization = createRbacAuthorizer(watched, boundMs);
    await vi.waitFor(() => expect(authorization.allows(user, asked)).toBe(false), { timeout: 20_000, interval: 50 });
  }, 120_000);
  afterAll(async () => {
    await informers?.close();
    await Promise.all([client?.close(), admin?.close()]);
    await relay?.stop();
    await plane?.stop();
  });

  const allowLooking = (): Promise<unknown> =>
    admin.create(ClusterRoleBinding, {
      metadata: { name: "looker" },
      roleRef: { ...roleRef, name: "looker" },
      subjects: [{ kind: "User", apiGroup: roleRef.apiGroup, name: "looker" }],
    });
  const grant = (): Promise<unknown> =>
    admin.create(RoleBinding, {
      metadata: { name: "ann", namespace: "sight" },
      roleRef,
      subjects: [{ kind: "User", apiGroup: roleRef.apiGroup, name: "ann" }],
    });
  const revoke = (): Promise<unknown> => admin.delete(RoleBinding, { name: "ann", namespace: "sight" });
  /** "yes", "no", or the status that the API answers when this is thrown. */
  const answer = (): string | number => {
    try {
      return authorization.allows(user, asked) ? "yes" : "no";
    } catch (error) {
      return toCFError(error).status;
    }
  };

  test("a change counts soon after it is answered", async () => {
    const lags: number[] = [];
    for (let round = 0; round < 40; round++) {
      const [change, after] = round % 2 === 0 ? ([grant, "yes"] as const) : ([revoke, "no"] as const);
      await change();
      const answered = performance.now();
      await vi.waitFor(() => expect(answer()).toBe(after), { timeout: boundMs, interval: 1 });
      lags.push(performance.now() - answered);
    }
    lags.sort((a, b) => a - b);
    console.log(
      `RBAC seen after its answer: median ${lags[20]?.toFixed(1)} ms, worst of 40 ${lags.at(-1)?.toFixed(1)} ms`,
    );
    expect(lags[20]).toBeLessThan(500);
  }, 60_000);

  test("a server that falls silent is believed for the bound and no longer", async () => {
    await grant();
    await vi.waitFor(() => expect(answer()).toBe("yes"), { timeout: boundMs, interval: 5 });
    relay.hush(true);
    await revoke();
    const changed = performance.now();
    let lastYes = changed;
    await vi.waitFor(
      () => {
        if (answer() === "yes") lastYes = performance.now();
        expect(answer()).toBe(503);
      },
      { timeout: boundMs * 2, interval: 20 },
    );
    expect(lastYes - changed).toBeLessThan(boundMs);
    // Nor does it come back before there is something to see.
    const seen = new Set<string | number>();
    await vi.waitFor(
      () => {
        seen.add(answer());
        expect(performance.now() - changed).toBeGreaterThan(boundMs * 1.5);
      },
      { timeout: boundMs * 2, interval: 20 },
    );
    expect([...seen]).toEqual([503]);
    relay.hush(false);
    await vi.waitFor(() => expect(answer()).toBe("no"), { timeout: 20_000, interval: 20 });
  }, 60_000);

  test("watches that are no longer allowed answer 503: never yes, never no; and resume by themselves", async () => {
    await grant();
    await vi.waitFor(() => expect(answer()).toBe("yes"), { timeout: boundMs, interval: 5 });
    await admin.delete(ClusterRoleBinding, { name: "looker" });
    await vi.waitFor(() => expect(informers.status().every(({ state }) => state === "parked")).toBe(true), {
      timeout: boundMs * 3,
      interval: 20,
    });
    const seen = new Set<string | number>();
    for (let round = 0; round < 50; round++) {
      seen.add(answer());
      await new Promise(setImmediate);
    }
    expect([...seen]).toEqual([503]);
    expect(() => authorization.allowedNames(user, asked)).toThrow(NotPermitted);
    expect(() => authorization.namespacesOf(user)).toThrow(NotPermitted);
    await allowLooking();
    await vi.waitFor(() => expect(answer()).toBe("yes"), { timeout: 20_000, interval: 20 });
  }, 60_000);
});
