// Rows: strategic merge patches, directive by directive, on a Deployment that no controller of the row reads again.
import { expect } from "vitest";
import type { Json } from "../api.ts";
import { row, type Row } from "../row.ts";

const deployment = (name: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, finalizers: ["a.example/x", "a.example/y"] },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: name } },
    strategy: { type: "RollingUpdate" },
    template: {
      metadata: { labels: { app: name, more: "1" } },
      spec: {
        tolerations: [{ key: "t1" }],
        volumes: [
          { name: "v", emptyDir: {} },
          { name: "w", configMap: { name: "c" } },
        ],
        containers: [
          {
            name: "one",
            image: "i:1",
            args: ["x", "y"],
            env: [
              { name: "A", value: "1" },
              { name: "B", value: "2" },
            ],
            ports: [{ containerPort: 80 }],
          },
          { name: "two", image: "j:1" },
        ],
      },
    },
  },
});

/** The patched Deployment, as far as `look` looks. */
function patches(name: string, patch: Json, look: (object: Json) => Json, expected: Json): Row {
  return row(name, async ({ api, ns }) => {
    const path = `/apis/apps/v1/namespaces/${ns}/deployments`;
    const made = await api.post(path, deployment("d"));
    expect(made.status, made.text).toBe(201);
    const { status, body, text } = await api.patch("strategic", `${path}/d?dryRun=All`, patch);
    // So that the namespace can go.
    await api.patch("merge", `${path}/d`, { metadata: { finalizers: null } });
    expect(status, text).toBe(200);
    expect(look(body)).toEqual(expected);
  });
}

const pod = (spec: Json) => ({ spec: { template: { spec } } });
const podOf = (object: Json) => object.spec.template.spec;
const images = (object: Json) => podOf(object).containers.map(({ name, image }: Json) => `${name} ${image}`);
const container = (object: Json) => podOf(object).containers[0];

export const strategicRows = [
  patches(
    "a list with a merge key changes the item of that key alone",
    pod({ containers: [{ name: "two", image: "k:1" }] }),
    images,
    ["one i:1", "two k:1"],
  ),
  patches("a new item goes to the front", pod({ containers: [{ name: "three", image: "t:1" }] }), images, [
    "three t:1",
    "one i:1",
    "two j:1",
  ]),
  patches("$patch: delete removes an item", pod({ containers: [{ name: "two", $patch: "delete" }] }), images, [
    "one i:1",
  ]),
  patches(
    "$patch: replace replaces the whole list",
    pod({ containers: [{ name: "new", image: "n:1" }, { $patch: "replace" }] }),
    images,
    ["new n:1"],
  ),
  patches(
    "$setElementOrder orders a list",
    pod({ "$setElementOrder/containers": [{ name: "two" }, { name: "one" }] }),
    images,
    ["two j:1", "one i:1"],
  ),
  patches(
    "$setElementOrder places a new item",
    pod({
      "$setElementOrder/containers": [{ name: "two" }, { name: "three" }, { name: "one" }],
      containers: [{ name: "three", image: "t:1" }],
    }),
    images,
    ["two j:1", "three t:1", "one i:1"],
  ),
  patches(
    "a list inside a list item merges too",
    pod({
      containers: [
        {
          name: "one",
          env: [
            { name: "A", $patch: "delete" },
            { name: "C", value: "3" },
          ],
        },
      ],
    }),
    (object) => container(object).env.map(({ name, value }: Json) => `${name}=${value}`),
    ["C=3", "B=2"],
  ),
  patches(
    "a list with another merge key",
    pod({ containers: [{ name: "one", ports: [{ containerPort: 80, name: "http" }, { containerPort: 81 }] }] }),
    (object) =>
      container(object)
        .ports.map(({ containerPort }: Json) => containerPort)
        .sort(),
    [80, 81],
  ),
  patches(
    "a list without a merge key is replaced",
    pod({ containers: [{ name: "one", args: ["z"] }], tolerations: [{ key: "t2" }] }),
    (object) => [container(object).args, podOf(object).tolerations],
    [["z"], [{ key: "t2" }]],
  ),
  patches(
    "null removes a field",
    pod({ tolerations: null, containers: [{ name: "one", args: null }] }),
    (object) => [podOf(object).tolerations, container(object).args],
    [undefined, undefined],
  ),
  patches(
    "$patch: replace on a map keeps only the fields beside it",
    { spec: { template: { metadata: { labels: { $patch: "replace", app: "d", new: "2" } } } } },
    (object) => object.spec.template.metadata.labels,
    { app: "d", new: "2" },
  ),
  patches(
    "$patch: delete on a map empties it, and defaults come back",
    { spec: { strategy: { $patch: "delete" } } },
    (object) => object.spec.strategy,
    { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
  ),
  patches(
    "$retainKeys keeps only the keys that it names",
    { spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } },
    (object) => object.spec.strategy,
    { type: "Recreate" },
  ),
  patches(
    "$retainKeys in an item of a list turns one kind of volume into another",
    pod({ volumes: [{ name: "v", $retainKeys: ["name", "secret"], secret: { secretName: "s" } }] }),
    (object) => podOf(object).volumes[0],
    { name: "v", secret: { secretName: "s", defaultMode: 420 } },
  ),
  patches(
    "$deleteFromPrimitiveList takes values out of a set",
    { metadata: { "$deleteFromPrimitiveList/finalizers": ["a.example/x"] } },
    (object) => object.metadata.finalizers,
    ["a.example/y"],
  ),
  patches(
    "new values are added to a set",
    { metadata: { finalizers: ["a.example/z", "a.example/x"] } },
    (object) => [...object.metadata.finalizers].sort(),
    ["a.example/x", "a.example/y", "a.example/z"],
  ),
];
