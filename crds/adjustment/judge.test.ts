// A patch on a pod template: what of it is in force, and the sentences about the rest.
import { describe, expect, test } from "vitest";
import { aRunner } from "../testing/objects.ts";
import { ADJUSTABLE, allowedFields, type AdjustableName } from "./adjustable.ts";
import { judgePatch } from "./judge.ts";

const all = Object.keys(ADJUSTABLE) as AdjustableName[];
const refusedOf = (patch: unknown, allowed = all): string[] =>
  judgePatch(patch, allowed).refused.map(({ path, message }) => `${path}: ${message}`);

const GOOD = {
  metadata: {
    labels: { team: "shop" },
    annotations: { "prometheus.io/scrape": "true", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false" },
  },
  spec: {
    tolerations: [{ key: "gpu", operator: "Exists", effect: "NoSchedule" }],
    nodeSelector: { "kubernetes.io/arch": "arm64" },
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }],
    priorityClassName: "batch",
    dnsPolicy: "None",
    dnsConfig: { nameservers: ["10.0.0.10"] },
    hostAliases: [{ ip: "10.0.0.1", hostnames: ["db.internal"] }],
    terminationGracePeriodSeconds: 60,
    containers: [{ name: "application", resources: { requests: { cpu: "250m" } } }],
  },
};

test("all that can be adjusted is in force as it was given", () => {
  expect(judgePatch(GOOD, all)).toEqual({ patch: GOOD, refused: [] });
});

describe("a field that is the platform's has its sentence", () => {
  const inContainer = (fields: object): unknown => ({ spec: { containers: [{ name: "application", ...fields }] } });
  test.each<[unknown, RegExp]>([
    [inContainer({ image: "evil" }), /^spec\.containers\[application\]\.image: the image is the droplet's/],
    [inContainer({ env: [] }), /env: variables are the app's/],
    [inContainer({ command: ["sh"] }), /command: the start command is the process's/],
    [inContainer({ securityContext: { privileged: true } }), /securityContext: pods of apps are of Pod Security/],
    [
      inContainer({ resources: { requests: { memory: "1Gi" } } }),
      /requests\.memory: memory is the process's: cf scale/,
    ],
    [{ spec: { hostNetwork: true } }, /^spec\.hostNetwork: pods of apps use nothing of their node/],
    [{ spec: { volumes: [{ hostPath: { path: "/" } }] } }, /^spec\.volumes: volumes come from bound services/],
    [{ spec: { serviceAccountName: "root" } }, /^spec\.serviceAccountName: pods of apps have no account/],
    [{ spec: { nodeName: "one" } }, /^spec\.nodeName: the scheduler chooses the node/],
    [{ spec: { schedulingGates: [] } }, /^spec\.schedulingGates: the gate gives each instance its index/],
    [{ spec: { initContainers: [] } }, /^spec\.initContainers: no field that can be adjusted/],
    [{ spec: { priorityClassName: "system-node-critical" } }, /system-/],
    [{ spec: { dnsPolicy: "None" } }, /None needs spec\.dnsConfig\.nameservers/],
    [{ spec: { terminationGracePeriodSeconds: 0 } }, /^spec\.terminationGracePeriodSeconds: /],
    [{ selector: {} }, /^selector: the selector finds the instances/],
    [{ metadata: { labels: { "cupola.dev/app-guid": "x" } } }, /^metadata\.labels: .*reserved/],
    [{ metadata: { annotations: { "container.apparmor.security.beta.kubernetes.io/x": "unconfined" } } }, /reserved/],
    [{ metadata: { annotations: { "io.kubernetes.cri-o.userns-mode": "auto" } } }, /^metadata\.annotations: .*io\./],
    [{ metadata: { labels: { "io.kubernetes.pod.name": "other" } } }, /^metadata\.labels: .*io\./],
    [{ spec: { containers: [{ resources: {} }] } }, /a container needs its name/],
    [{ spec: { constructor: {} } }, /no field that can be adjusted/],
  ])("%j", (patch, sentence) => {
    const judged = judgePatch(patch, all);
    expect(refusedOf(patch)).toEqual([expect.stringMatching(sentence)]);
    expect(judged.patch).toEqual({});
  });
});

test("the rest of a patch acts", () => {
  const { patch, refused } = judgePatch({ spec: { hostPID: true, priorityClassName: "batch" } }, all);
  expect(patch).toEqual({ spec: { priorityClassName: "batch" } });
  expect(refused).toHaveLength(1);
});

test.each(["text", null, [1], 7])("%j is no patch", (patch) => {
  expect(refusedOf(patch)).toEqual([expect.stringMatching(/^patch: a patch is a map/)]);
});

test("a patch has bounds", () => {
  const annotations = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`a${n}`, "x".repeat(1000)]));
  expect(refusedOf({ metadata: { annotations } })).toEqual([expect.stringMatching(/at most 16384 bytes/)]);
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`field${n}`, 1]));
  expect(refusedOf({ spec: many })).toHaveLength(50);
});

describe("the operator's choice", () => {
  const aClass = (parameters?: Record<string, string>, capabilities = { adjustments: "podTemplate" }) =>
    aRunner("deployment", { parameters }, capabilities);

  test("by default all but what leads connections elsewhere, and changes limits and the runtime", () => {
    expect(all.filter((name) => !allowedFields(aClass()).includes(name))).toEqual([
      "dnsPolicy",
      "dnsConfig",
      "hostAliases",
      "cpuLimit",
      "runtimeClassName",
    ]);
  });

  test("a parameter of the class names the fields; words that are none count for nothing", () => {
    const allowed = allowedFields(aClass({ "adjustments.allowed": "labels, runtimeClassName image" }));
    expect(allowed).toEqual(["labels", "runtimeClassName"]);
    expect(refusedOf({ spec: { nodeSelector: { disk: "ssd" } } }, [...allowed])).toEqual([
      "spec.nodeSelector: the operator does not let it be adjusted here: ask for nodeSelector among adjustments.allowed",
    ]);
  });

  test("a class that makes no pods lets nothing be adjusted", () => {
    expect(allowedFields(aRunner("process", {}, { dropletKinds: "host" }))).toEqual([]);
  });
});
