// Stagings of class kpack on a cluster that has kpack's own definitions; the tests write the statuses that kpack's controller would.
import { kpackBuilder } from "../../../backends/builders/kpack/kpack.ts";
import {
  KpackBuild,
  type KpackBuildObject,
  type KpackBuildStatus,
} from "../../../backends/builders/kpack/kpack-build.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import type { ObjectKey } from "../../../kube/api/object.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { Controller } from "../../../kube/controller/controller.ts";
import { eventually } from "../../eventually.ts";

const GUID = "00000000-0000-4000-8000-00000000000";
const BUILT = {
  "io.buildpacks.build.metadata": '{"processes":[{"type":"web","command":"node server.js","direct":false}]}',
};

/** The class's controllers, on a registry in which every image is there. */
export function listKpackControllers(): Controller[] {
  const config = { env: [], labels: BUILT, layers: [], layersInHistory: 0, platform: "linux/amd64" };
  return kpackBuilder({
    registry: {
      prefix: "registry.example/cf",
      insecureHosts: [],
      readDockerConfig: () => Promise.resolve('{"auths":{}}'),
      inspect: (image) => Promise.resolve({ reference: image, config }),
    },
    blobs: { put: () => Promise.reject(new Error("the tests' packages have their content")) },
  });
}

/** Makes a Staging of the class, and waits for kpack's Build. */
export async function stage(client: KubeClient, key: ObjectKey, app: number): Promise<KpackBuildObject> {
  await client.create(Staging, {
    metadata: { ...key },
    spec: {
      class: "kpack",
      app: { guid: `${GUID}${app}`, name: "shop" },
      space: { guid: `${GUID}8`, name: "dev" },
      org: { guid: `${GUID}9`, name: "acme" },
      buildGUID: `${GUID}7`,
      lifecycleType: "buildpack",
      package: { type: "bits", content: { digest: `sha256:${"1".repeat(64)}`, size: 7 } },
      buildpacks: [],
      detect: true,
      memoryMB: 1024,
      diskMB: 4096,
    },
  });
  return await eventually(() => client.get(KpackBuild, key));
}

/** Writes the Build's status as kpack does, and waits until the Staging says so. */
export async function sayAsKpack(
  client: KubeClient,
  key: ObjectKey,
  status: KpackBuildStatus,
  isTaken: (staging: Staging) => boolean,
): Promise<Staging> {
  await client.patch(KpackBuild, key, { type: "merge", body: { status } }, { subresource: "status" });
  return await eventually(async () => {
    const staging = await client.get(Staging, key);
    if (!isTaken(staging)) throw new Error(JSON.stringify(staging.status));
    return staging;
  }, 30_000);
}
