// kube-apiserver's defaults of built-in kinds, as far as clients of a laptop's cluster read them.
import type { KubeObject } from "../../../kube/api/object.ts";
import { isMap, type JsonMap } from "../apply/values.ts";
import { imageTag } from "./image-tag.ts";

type Fill = (object: JsonMap) => void;

const mapAt = (object: JsonMap, key: string): JsonMap | undefined => (isMap(object[key]) ? object[key] : undefined);
const itemsAt = (object: JsonMap | undefined, key: string): JsonMap[] =>
  Array.isArray(object?.[key]) ? (object[key] as unknown[]).filter(isMap) : [];
const fill = (object: JsonMap | undefined, values: JsonMap) => {
  if (object) for (const [key, value] of Object.entries(values)) object[key] ??= value;
};
const specOf = (object: JsonMap): JsonMap => (object.spec ??= {}) as JsonMap;

function fillPodSpec(spec: JsonMap | undefined): void {
  if (!spec) return;
  // The old name of the field is kept in step with the new one.
  if (spec.serviceAccountName) spec.serviceAccount = spec.serviceAccountName;
  else if (spec.serviceAccount) spec.serviceAccountName = spec.serviceAccount;
  fill(spec, {
    restartPolicy: "Always",
    dnsPolicy: "ClusterFirst",
    schedulerName: "default-scheduler",
    terminationGracePeriodSeconds: 30,
    securityContext: {},
  });
  for (const container of [...itemsAt(spec, "containers"), ...itemsAt(spec, "initContainers")])
    fillContainer(container);
  for (const volume of itemsAt(spec, "volumes")) {
    if (Object.keys(volume).every((key) => key === "name")) volume.emptyDir = {};
    fill(mapAt(volume, "secret"), { defaultMode: 420 });
    fill(mapAt(volume, "configMap"), { defaultMode: 420 });
    fill(mapAt(volume, "projected"), { defaultMode: 420 });
  }
}

function fillContainer(container: JsonMap): void {
  const image = typeof container.image === "string" ? container.image : "";
  fill(container, {
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: imageTag(image) === "latest" ? "Always" : "IfNotPresent",
    resources: {},
  });
  for (const port of itemsAt(container, "ports")) fill(port, { protocol: "TCP" });
  for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"]) fillProbe(mapAt(container, probe));
  for (const env of itemsAt(container, "env"))
    fill(mapAt(mapAt(env, "valueFrom") ?? {}, "fieldRef"), { apiVersion: "v1" });
}

function fillProbe(probe: JsonMap | undefined): void {
  fill(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
  fill(mapAt(probe ?? {}, "httpGet"), { path: "/", scheme: "HTTP" });
}

const templateSpec = (spec: JsonMap) => mapAt(mapAt(spec, "template") ?? {}, "spec");

const fillDeployment: Fill = (object) => {
  const spec = specOf(object);
  fill(spec, {
    replicas: 1,
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
    strategy: { type: "RollingUpdate" },
  });
  const strategy = mapAt(spec, "strategy");
  fill(strategy, { type: "RollingUpdate" });
  if (strategy?.type === "RollingUpdate") fill(strategy, { rollingUpdate: {} });
  fill(strategy?.type === "RollingUpdate" ? mapAt(strategy, "rollingUpdate") : undefined, {
    maxSurge: "25%",
    maxUnavailable: "25%",
  });
  fill(spec, { template: {} });
  fill(mapAt(spec, "template"), { spec: {} });
  fillPodSpec(templateSpec(spec));
  object.status ??= {};
};

const fillStatefulSet: Fill = (object) => {
  const spec = specOf(object);
  fill(spec, {
    replicas: 1,
    revisionHistoryLimit: 10,
    podManagementPolicy: "OrderedReady",
    updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
  });
  fillPodSpec(templateSpec(spec));
};

function fillBalancers({ type }: JsonMap, status: JsonMap | undefined): void {
  if (type !== "LoadBalancer") return;
  for (const place of itemsAt(mapAt(status ?? {}, "loadBalancer"), "ingress"))
    if (place.ip) fill(place, { ipMode: "VIP" });
}

const fillService: Fill = (object) => {
  const spec = specOf(object);
  fill(spec, { type: "ClusterIP", sessionAffinity: "None" });
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  if (
    spec.sessionAffinity === "ClientIP" &&
    mapAt(mapAt(spec, "sessionAffinityConfig") ?? {}, "clientIP")?.timeoutSeconds === undefined
  )
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: 10_800 } };
  if (spec.type !== "ExternalName") fill(spec, { internalTrafficPolicy: "Cluster" });
  for (const port of itemsAt(spec, "ports")) {
    fill(port, { protocol: "TCP" });
    port.targetPort ||= port.port;
  }
  object.status ??= { loadBalancer: {} };
  fillBalancers(spec, mapAt(object, "status"));
};

const fillSubjects: Fill = (object) => {
  for (const subject of itemsAt(object, "subjects"))
    if (subject.kind === "User" || subject.kind === "Group") subject.apiGroup ||= "rbac.authorization.k8s.io";
  const roleRef = (object.roleRef ??= {});
  if (isMap(roleRef)) roleRef.apiGroup ||= "rbac.authorization.k8s.io";
};

function fillMatch(match: JsonMap | undefined): void {
  fill(match, { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} });
  for (const rule of [...itemsAt(match, "resourceRules"), ...itemsAt(match, "excludeResourceRules")])
    fill(rule, { scope: "*" });
}

const fillWebhooks =
  (more: JsonMap): Fill =>
  (object) => {
    for (const webhook of itemsAt(object, "webhooks")) {
      fill(webhook, {
        failurePolicy: "Fail",
        matchPolicy: "Equivalent",
        namespaceSelector: {},
        objectSelector: {},
        timeoutSeconds: 10,
        ...more,
      });
      for (const rule of itemsAt(webhook, "rules")) fill(rule, { scope: "*" });
      fill(mapAt(mapAt(webhook, "clientConfig") ?? {}, "service"), { port: 443 });
    }
  };

const fillCrd: Fill = (object) => {
  const spec = specOf(object);
  const names = (spec.names ??= {}) as JsonMap;
  fill(names, {
    singular: typeof names.kind === "string" ? names.kind.toLowerCase() : "",
    listKind: `${String(names.kind ?? "")}List`,
  });
  fill(spec, { conversion: { strategy: "None" } });
};

const FILLS: Record<string, Fill> = {
  Secret: (object) => {
    fill(object, { type: "Opaque" });
    const plain = mapAt(object, "stringData");
    if (!plain) return;
    const data = { ...mapAt(object, "data") };
    for (const [key, value] of Object.entries(plain)) data[key] = Buffer.from(String(value)).toString("base64");
    if (Object.keys(data).length > 0) object.data = data;
    delete object.stringData;
  },
  Namespace: (object) => {
    const metadata = object.metadata as JsonMap;
    if (metadata.name)
      metadata.labels = { ...(metadata.labels as object), "kubernetes.io/metadata.name": metadata.name };
  },
  Service: fillService,
  Deployment: fillDeployment,
  ReplicaSet: (object) => {
    fill(specOf(object), { replicas: 1 });
    fillPodSpec(templateSpec(specOf(object)));
  },
  StatefulSet: fillStatefulSet,
  DaemonSet: (object) => {
    fill(specOf(object), {
      revisionHistoryLimit: 10,
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
    });
    fillPodSpec(templateSpec(specOf(object)));
  },
  Job: (object) => {
    // A Job that works off a queue has no number of completions.
    if (specOf(object).parallelism === undefined) fill(specOf(object), { completions: 1 });
    fill(specOf(object), {
      parallelism: 1,
      backoffLimit: 6,
      completionMode: "NonIndexed",
      suspend: false,
      manualSelector: false,
      podReplacementPolicy: "TerminatingOrFailed",
    });
    fillPodSpec(templateSpec(specOf(object)));
  },
  Pod: (object) => {
    fillPodSpec(specOf(object));
    fill(specOf(object), { enableServiceLinks: true, preemptionPolicy: "PreemptLowerPriority", priority: 0 });
    object.status ??= { phase: "Pending", qosClass: "BestEffort" };
  },
  NetworkPolicy: (object) =>
    fill(specOf(object), { policyTypes: specOf(object).egress ? ["Ingress", "Egress"] : ["Ingress"] }),
  RoleBinding: fillSubjects,
  ClusterRoleBinding: fillSubjects,
  ValidatingAdmissionPolicy: (object) => {
    fill(specOf(object), { failurePolicy: "Fail" });
    fillMatch(mapAt(specOf(object), "matchConstraints"));
    object.status ??= {};
  },
  ValidatingAdmissionPolicyBinding: (object) => fillMatch(mapAt(specOf(object), "matchResources")),
  ValidatingWebhookConfiguration: fillWebhooks({}),
  MutatingWebhookConfiguration: fillWebhooks({ reinvocationPolicy: "Never" }),
  CustomResourceDefinition: fillCrd,
};

/** Fills defaults in place. */
export function applyBuiltinDefaults(object: KubeObject): void {
  FILLS[object.kind]?.(object);
}
