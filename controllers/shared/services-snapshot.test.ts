// Bound services of an app: read live, once where there are none, and too much is refused in words.
import { describe, expect, test, vi } from "vitest";
import type { App } from "../../crds/app/app.ts";
import { LABELS } from "../../crds/labels.ts";
import { toBindingData } from "../../crds/service-binding/binding-secret.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { credentialsLabels, credentialsSecretName, toSecretData } from "../../crds/service-instance/credentials.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { ENV_KEY } from "./env-snapshot.ts";
import { snapshotServices } from "./services-snapshot.ts";

const namespace = "space";
const app = { metadata: { name: "shop", namespace, uid: "app-uid" }, spec: {} } as App;
const instance = (n: number) => ({
  metadata: { name: `db-${n}`, namespace, uid: `uid-${n}` },
  spec: { tags: [], type: "user-provided", credentialsSecretRef: { name: credentialsSecretName(`db-${n}`) } },
});
const binding = (n: number) => ({
  metadata: { name: `b-${n}`, namespace, uid: `b-uid-${n}` },
  spec: { appRef: { name: "shop" }, instanceRef: { name: `db-${n}` } },
});

/** A space with so many bound instances, each with credentials of so many bytes. */
function contextOf(count: number, bytes: number) {
  const numbers = Array.from({ length: count }, (_, n) => n);
  const find = (ref: { kind: string }, { name }: { name: string }): Promise<unknown> => {
    const n = Number(/\d+/.exec(name)?.[0]);
    if (ref.kind === ServiceInstance.kind) return Promise.resolve(instance(n));
    const metadata = { name, namespace, labels: credentialsLabels(`uid-${n}`) };
    return Promise.resolve({ kind: Secret.kind, metadata, data: toSecretData({ a: "x".repeat(bytes) }) });
  };
  const list = vi.fn((ref: { kind: string }) =>
    Promise.resolve({ items: ref.kind === ServiceBinding.kind ? numbers.map(binding) : [] }),
  );
  const read = { list: () => numbers.map(instance), byIndex: () => [] };
  return { context: { read, client: { find, list } } as unknown as ReconcileContext, list };
}

test("an app without bindings costs one request", async () => {
  const { context, list } = contextOf(0, 0);
  expect(await snapshotServices({ app, guid: "guid" }, context)).toEqual({ env: [] });
  expect(list).toHaveBeenCalledOnce();
});

test("a cache that has no instance yet hides none", async () => {
  const { context } = contextOf(10, 60_000);
  const late = { ...context, read: { list: () => [], byIndex: () => [] } } as unknown as ReconcileContext;
  await expect(snapshotServices({ app, guid: "guid" }, late)).rejects.toMatchObject({ reason: "ServicesTooLarge" });
});

test("more credentials than an environment may have stall the start, in words", async () => {
  const { context } = contextOf(10, 60_000);
  await expect(snapshotServices({ app, guid: "guid" }, context)).rejects.toMatchObject({
    reason: "ServicesTooLarge",
    message: expect.stringMatching(/60\d{4} bytes of credentials; .*unbind/) as string,
  });
});

test.each<[object, string, RegExp]>([
  [{ serviceBindingK8s: true }, "SERVICE_BINDING_ROOT", /^db-0\/a f\d+$/],
  [{ fileBasedVcapServices: true }, "VCAP_SERVICES_FILE_PATH", /^vcap_services f0$/],
])("with the feature %j there are files, and no VCAP_SERVICES", async (features, variable, item) => {
  const { context } = contextOf(1, 3);
  const made: { data: Record<string, string> }[] = [];
  const { find } = context.client;
  const client = {
    ...context.client,
    find: (ref: unknown, at: { name: string }) =>
      at.name === ENV_KEY.secretName
        ? Promise.resolve({ metadata: at, data: { key: Buffer.alloc(32).toString("base64") } })
        : /-env-/.test(at.name)
          ? Promise.resolve(undefined)
          : (find as (ref: unknown, at: object) => Promise<unknown>)(ref, at),
    create: (_ref: unknown, secret: { data: Record<string, string> }) => Promise.resolve(made.push(secret)),
  };
  const asking = { ...app, spec: { features } } as unknown as App;
  const { env, files } = await snapshotServices({ app: asking, guid: "guid" }, {
    ...context,
    client,
  } as unknown as ReconcileContext);
  expect(env.map(({ name }) => name)).toEqual([variable]);
  expect(files?.items.map(({ path, key }) => `${path} ${key}`)).toContainEqual(expect.stringMatching(item));
  const key = files?.items.find(({ path }) => path === "db-0/a" || path === "vcap_services")?.key ?? "";
  expect(Buffer.from(made[0]?.data[key] ?? "", "base64").toString()).toContain("xxx");
});

test("an app that wants folders starts without a binding, too", async () => {
  const { context } = contextOf(0, 0);
  const asking = { ...app, spec: { features: { serviceBindingK8s: true } } } as unknown as App;
  expect(await snapshotServices({ app: asking, guid: "guid" }, context)).toEqual({
    env: [{ name: "SERVICE_BINDING_ROOT", value: "/etc/cf-service-bindings" }],
  });
});

describe("a volume of a broker", () => {
  const mount = (mode: string): object => ({
    driver: "persistentvolumeclaim",
    container_dir: "/data",
    mode,
    device_type: "shared",
    device: { volume_id: "models", mount_config: {} },
  });

  /** A binding of a managed instance with one volume, and a claim with these labels; undefined: there is none. */
  function withVolume(mode: string, labels?: Record<string, string>): ReconcileContext {
    const managed = { ...instance(0), spec: { tags: [], type: "managed" }, status: { provided: {} } };
    const lastOperation = { type: "create", state: "succeeded" };
    const bound = { ...binding(0), status: { lastOperation, binding: { name: "b-0-binding" } } };
    const data = toBindingData({ credentials: {}, volumeMounts: [mount(mode)] }, "volumes");
    const find = (ref: { kind: string }, { name }: { name: string }): Promise<unknown> => {
      if (ref.kind === ServiceInstance.kind) return Promise.resolve(managed);
      if (ref.kind === "PersistentVolumeClaim") return Promise.resolve(labels && { metadata: { name, labels } });
      if (name === ENV_KEY.secretName)
        return Promise.resolve({ metadata: { name }, data: { key: Buffer.alloc(32).toString("base64") } });
      return Promise.resolve(
        name === "b-0-binding"
          ? { metadata: { name, labels: { [LABELS.serviceBinding]: "b-uid-0" } }, data }
          : undefined,
      );
    };
    const client = { find, list: () => Promise.resolve({ items: [bound] }), create: () => Promise.resolve() };
    return { read: { list: () => [managed], byIndex: () => [] }, client } as unknown as ReconcileContext;
  }

  test.each([
    ["r", "read-only"],
    ["r", "read-write"],
    ["rw", "read-write"],
  ])("with mode %s is mounted of a claim that is %s", async (mode, consent) => {
    const { volumes } = await snapshotServices(
      { app, guid: "guid" },
      withVolume(mode, { "cupola.dev/volume": consent }),
    );
    expect(volumes).toEqual([{ claimName: "models", mountPath: "/data", readOnly: mode === "r" }]);
  });

  test.each([
    ["r", undefined, /models does not exist/],
    ["r", {}, /not labelled cupola\.dev\/volume=read-only or read-write/],
    ["rw", { "cupola.dev/volume": "read-only" }, /not labelled cupola\.dev\/volume=read-write;/],
  ])("with mode %s is not mounted of a claim labelled %j", async (mode, labels, message) => {
    await expect(snapshotServices({ app, guid: "guid" }, withVolume(mode, labels))).rejects.toMatchObject({
      reason: "VolumeNotAllowed",
      message: expect.stringMatching(message) as string,
    });
  });
});
