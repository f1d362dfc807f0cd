// A platform without other clusters: its routes tell nothing of clusters.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import { Namespace } from "../../../kube/api/builtin.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { installManifests } from "../../../platform/install.ts";
import { startPlatform } from "../../../platform/platform.ts";
import { eventually } from "../../eventually.ts";
import { startEmbedded } from "../embedded-server.ts";

test("a route of a platform without other clusters has the condition of its router alone", async () => {
  await using ends = new AsyncDisposableStack();
  const data = mkdtempSync(join(tmpdir(), "cupola-no-clusters-"));
  ends.defer(() => rmSync(data, { recursive: true, force: true }));
  const { url: server, ca, adminToken: token, stop } = await startEmbedded();
  ends.defer(stop);
  const access = { server, ca, auth: { kind: "token", token } } as const;
  const kube = createClient(access);
  ends.defer(() => kube.close());
  await kube.create(Namespace, { metadata: { name: SYSTEM_NAMESPACE } }).catch(() => undefined);
  await installManifests(kube);
  const key = { namespace: SYSTEM_NAMESPACE, name: "shop" };
  await kube.create(RouteBinding, {
    metadata: key,
    spec: {
      hostname: "shop.apps.example",
      class: "router",
      routeGUID: "guid",
      space: { guid: "dev", name: "dev" },
      org: { guid: "acme", name: "acme" },
      path: "",
      port: 0,
      internal: false,
      destinations: [],
    },
  });
  const platform = await startPlatform({
    access,
    operations: ["api", "controllers"],
    data,
    listen: { host: "127.0.0.1", port: 0 },
    log: pino({ level: "silent" }),
    shutdown: { drainMs: 0 },
  });
  ends.defer(() => platform.stop({ instances: "end" }));
  await eventually(() => expect(platform.leads()).toContain("leader-controllers"));
  await platform.idle();
  expect((await kube.get(RouteBinding, key)).status?.conditions ?? []).toEqual([]);
});
