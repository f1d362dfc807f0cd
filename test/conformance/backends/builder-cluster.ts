// Needs of builders' tests of a cluster: images in its registry, credentials, and a space.
import { join } from "node:path";
import { Org } from "../../../crds/org/org.ts";
import { Space } from "../../../crds/space/space.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { writeCupolaImage } from "../../../scripts/image/cupola-image.ts";
import { provideBinary } from "../../cluster/binaries.ts";
import type { TestCluster } from "../../cluster/given/given-cluster.ts";
import { writeBuilderImage, writeRunImage } from "../../cluster/images/buildpack-images.ts";
import { pushImage } from "../../cluster/node/push-image.ts";
import { eventually } from "../../eventually.ts";

type Cluster = Pick<TestCluster, "registry">;

const READY_MS = 240_000;

/** The content of a dockerconfigjson for the cluster's registry. */
export function dockerConfig({ registry: { host, username, password } }: Cluster): string {
  const auth = Buffer.from(`${username}:${password}`).toString("base64");
  return JSON.stringify({ auths: { [host]: { auth } } });
}

/** Pushes `team/run:1` and `team/builder:1`. */
export async function pushBuilderImages({ registry }: Cluster, scratch: string): Promise<void> {
  const layout = (name: string): string => join(scratch, name);
  const [run, builder] = ["team/run:1", "team/builder:1"];
  const programs = { lifecycle: await provideBinary("lifecycle"), launcher: await provideBinary("launcher") };
  await writeRunImage(layout("run"), { reference: `${registry.host}/${run}` });
  await writeBuilderImage(layout("builder"), {
    reference: `${registry.host}/${builder}`,
    runImage: `${registry.host}/${run}`,
    programs,
  });
  await pushImage(layout("run"), run, registry);
  await pushImage(layout("builder"), builder, registry);
}

/** Pushes `team/cupola:1`. */
export async function pushPlatformImage({ registry }: Cluster, scratch: string): Promise<void> {
  const [layout, name] = [join(scratch, "cupola"), "team/cupola:1"];
  await writeCupolaImage(layout, `${registry.host}/${name}`);
  await pushImage(layout, name, registry);
}

/** Makes org and space. @returns the space's namespace */
export async function createSpace(admin: KubeClient): Promise<string> {
  const until = <T>(value: T | undefined, what: string): T => {
    if (value === undefined) throw new Error(`no ${what} yet`);
    return value;
  };
  await admin.create(Org, { metadata: { name: "acme" }, spec: {} });
  const org = await eventually(
    async () => until((await admin.get(Org, { name: "acme" })).status?.namespace, "namespace of the org"),
    READY_MS,
  );
  await eventually(() => admin.create(Space, { metadata: { namespace: org, name: "dev" }, spec: {} }), READY_MS);
  return await eventually(
    async () =>
      until((await admin.get(Space, { namespace: org, name: "dev" })).status?.namespace, "namespace of the space"),
    READY_MS,
  );
}
