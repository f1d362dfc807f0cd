// Which bindings an app finds, and what VCAP_SERVICES shows of them.
import { expect, test } from "vitest";
import type { ServiceInstance } from "../service-instance/service-instance.ts";
import { newestBound, toBoundService } from "./bound-service.ts";
import type { ServiceBinding } from "./service-binding.ts";

const instance = (type = "managed") =>
  ({ metadata: { name: "db", namespace: "space", uid: "i" }, spec: { type, tags: [] } }) as unknown as ServiceInstance;

function bindingOf(name: string, { at = "1", guid = name, state = "succeeded" } = {}): ServiceBinding {
  return {
    metadata: { name, namespace: "space", uid: guid, creationTimestamp: at },
    spec: { instanceRef: { name: "db" } },
    status: { lastOperation: { type: "create", state } },
  } as unknown as ServiceBinding;
}

test.each<[string, ServiceBinding[], string[]]>([
  ["the newest", [bindingOf("a", { at: "2" }), bindingOf("b", { at: "1" })], ["a"]],
  ["not one that is still being made", [bindingOf("a"), bindingOf("b", { at: "2", state: "in progress" })], ["a"]],
  ["not one that has failed", [bindingOf("a"), bindingOf("b", { at: "2", state: "failed" })], ["a"]],
  ["of one second, that of the greater GUID", [bindingOf("a", { guid: "z" }), bindingOf("b", { guid: "y" })], ["a"]],
  ["none, while none is made", [bindingOf("a", { state: "initial" })], []],
])("of several bindings to one instance: %s", (_, bindings, names) => {
  const pairs = bindings.map((binding) => ({ binding, instance: instance() }));
  expect(newestBound(pairs).map(({ binding }) => binding.metadata.name)).toEqual(names);
});

const show = (content: Parameters<typeof toBoundService>[0]["content"], type?: string) =>
  toBoundService({ instance: { ...instance(type), guid: "i" }, binding: { ...bindingOf("b"), guid: "b" }, content });

test("of a volume nothing is shown that says how it is reached", () => {
  const mount = {
    driver: "nfs",
    container_dir: "/data",
    mode: "rw",
    device_type: "shared",
    device: { volume_id: "v", mount_config: { password: "s3cret" } },
  };
  expect(show({ credentials: {}, volumeMounts: [mount, "odd", null] }).volume_mounts).toEqual([
    { container_dir: "/data", mode: "rw", device_type: "shared" },
    {},
    {},
  ]);
});

test("no credentials are null", () => {
  expect(show({ credentials: null }, "user-provided")).toMatchObject({ label: "user-provided", credentials: null });
});
