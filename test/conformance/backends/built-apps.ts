// Apps that tests of builders push by objects: what is in them, how they are built, started and asked.
import { App } from "../../../crds/app/app.ts";
import { Build } from "../../../crds/build/build.ts";
import { Package } from "../../../crds/package/package.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import { Pod } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { eventually } from "../../eventually.ts";

/** Deadline for a slow machine: a build takes some 10 s on two idle cores. */
export const BUILD_MS = 240_000;

export const SERVER = `require("http").createServer((q, s) => s.end("hello from " + process.env.PLACE)).listen(process.env.PORT);\n`;

/** It answers `hello from the space`. */
export const HELLO = { "package.json": `{"name":"hello","scripts":{"start":"node server.js"}}`, "server.js": SERVER };

/** The build of the first keeps a file in a cached layer, that of the second fails without it. */
export const CACHING: Record<string, string>[] = [
  {
    "build.sh": `mkdir -p "$CNB_LAYERS_DIR/keep"; echo kept > "$CNB_LAYERS_DIR/keep/file"
printf '[types]\ncache = true\n' > "$CNB_LAYERS_DIR/keep.toml"
`,
    "server.js": SERVER,
  },
  { "build.sh": `test "$(cat "$CNB_LAYERS_DIR/keep/file")" = kept\n` },
];

export interface FailingApp {
  app: string;
  files: Record<string, string>;
  build?: object;
  /** Cloud Foundry's. */
  code: string;
  /** Part of it. */
  message: string;
}

/** Fail on every builder image. */
export const FAILING: FailingApp[] = [
  {
    app: "nothing-fits",
    files: { "notes.md": "nothing" },
    code: "NoAppDetectedError",
    message: "no buildpack fits the app",
  },
  {
    app: "compile",
    files: { "build.sh": "echo no luck; exit 3" },
    code: "BuildpackCompileFailed",
    message: "a buildpack failed; the log says why",
  },
  {
    app: "hungry",
    files: { "build.sh": `node -e 'const all = []; for (;;) all.push(Buffer.alloc(16 * 2 ** 20, 1))'` },
    build: { memoryMB: 512 },
    code: "InsufficientResources",
    message: "the build needed more memory",
  },
];

/** Makes the app, its name up to the first dot, unless it is there, and a build of these files. */
export async function startBuild(
  admin: KubeClient,
  { namespace, name }: { namespace: string; name: string },
  { files, build = {} }: { files: Record<string, string>; build?: object },
): Promise<void> {
  const [app = ""] = name.split(".");
  if (!(await admin.find(App, { namespace, name: app })))
    await admin.create(App, {
      metadata: { namespace, name: app },
      spec: { state: "Stopped", env: [{ name: "PLACE", value: "the space" }] },
    });
  const appRef = { name: app };
  await admin.create(Package, { metadata: { namespace, name }, spec: { appRef, type: "bits", files } });
  await admin.create(Build, { metadata: { namespace, name }, spec: { appRef, packageRef: { name }, ...build } });
}

/** @throws Error with the statuses of Build and Staging after `BUILD_MS` */
export function buildEnded(admin: KubeClient, key: { namespace: string; name: string }): Promise<Build> {
  return eventually(async () => {
    const build = await admin.get(Build, key);
    if (build.status?.state === "Staged" || build.status?.state === "Failed") return build;
    const staging = await admin.find(Staging, key);
    throw new Error(`build ${key.name}: ${JSON.stringify([build.status, staging?.status])}`);
  }, BUILD_MS);
}

/** Starts the app with the droplet of its name. */
export async function startApp(admin: KubeClient, key: { namespace: string; name: string }): Promise<void> {
  await admin.patch(App, key, { type: "merge", body: { spec: { state: "Started", droplet: { name: key.name } } } });
}

/** Where kube-apiserver forwards a GET to the app's pod. */
export async function podProxyPath(admin: KubeClient, key: { namespace: string; name: string }): Promise<string> {
  const { namespace } = key;
  const { metadata } = await admin.get(App, key);
  const labelSelector = `cupola.dev/app-guid=${metadata.labels?.["cupola.dev/guid"]},cupola.dev/process-type=web`;
  const [pod] = (await admin.list(Pod, { namespace, labelSelector })).items;
  return `/api/v1/namespaces/${namespace}/pods/${pod?.metadata.name ?? "none"}:8080/proxy/`;
}
