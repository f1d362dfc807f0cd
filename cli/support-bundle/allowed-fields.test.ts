// Fields of objects in a support bundle: names and states stay, values that people wrote do not.
import { expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { DEFINITIONS } from "../../crds/definitions.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { keepKubernetesFields, keepOwnFields } from "./allowed-fields.ts";

const object = (kind: string, rest: object): Parameters<typeof keepKubernetesFields>[0] => ({
  apiVersion: "v1",
  kind,
  metadata: { name: "shop", annotations: { note: "abc" }, labels: { "cupola.dev/app-guid": "g", team: "abc" } },
  ...rest,
});

test("an app keeps its names, states and choices", () => {
  const app = object("App", {
    spec: { name: "shop", state: "Started", env: [{ name: "KEY", value: "abc" }] },
    status: {
      conditions: [
        {
          type: "Ready",
          status: "False",
          reason: "Crashed",
          message: "password=abc",
          lastTransitionTime: "2026-01-01T00:00:00Z",
        },
      ],
    },
  });
  const kept = keepOwnFields(App, app);
  expect(kept).toMatchObject({
    metadata: { name: "shop", annotations: { note: "***" }, labels: { "cupola.dev/app-guid": "g", team: "***" } },
    spec: { name: "shop", state: "Started", env: [{ name: "KEY", value: "***" }] },
    status: { conditions: [{ reason: "Crashed", message: "password=***" }] },
  });
  expect(JSON.stringify(kept)).not.toContain("abc");
});

test("a free map is masked whole, also where its keys look like names", () => {
  const instance = object("ServiceInstance", {
    spec: { name: "db", parameters: { name: "abc", nested: { kind: "abc" } } },
  });
  expect(JSON.stringify(keepOwnFields(ServiceInstance, instance))).not.toContain("abc");
});

test("fields that no schema has are masked", () => {
  expect(
    JSON.stringify(keepOwnFields(App, object("App", { spec: { later: "abc", deep: { name: "abc" } } }))),
  ).not.toContain("abc");
});

test("every kind of ours has a schema to go by", () => {
  for (const definition of DEFINITIONS)
    expect(
      keepOwnFields(definition, object(definition.kind, { spec: { unknown: "abc" } })).spec,
      definition.kind,
    ).toEqual({ unknown: "***" });
});

test("a pod keeps what says why it does not run", () => {
  const pod = object("Pod", {
    spec: {
      containers: [
        {
          name: "web",
          image: "registry.example.org/shop:1",
          command: ["sh", "-c", "abc"],
          args: ["--operation=api", "--token=abc", "abc"],
          env: [{ name: "KEY", value: "abc" }],
          resources: { limits: { memory: "1Gi" } },
        },
      ],
    },
    status: {
      containerStatuses: [{ name: "web", state: { waiting: { reason: "ImagePullBackOff", message: "not found" } } }],
    },
  });
  expect(keepKubernetesFields(pod)).toMatchObject({
    spec: {
      containers: [
        {
          name: "web",
          image: "registry.example.org/shop:1",
          args: ["--operation=api", "--token=***", "***"],
          env: [{ name: "KEY" }],
          resources: { limits: { memory: "1Gi" } },
        },
      ],
    },
    status: {
      containerStatuses: [{ name: "web", state: { waiting: { reason: "ImagePullBackOff", message: "not found" } } }],
    },
  });
  expect(JSON.stringify(keepKubernetesFields(pod))).not.toContain("abc");
});

test("a Secret keeps its name alone", () => {
  expect(keepKubernetesFields(object("Secret", { data: { password: "abc" } }))).not.toHaveProperty("data");
});
