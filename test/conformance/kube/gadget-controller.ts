// The controller of the controller rows: a Gadget with a ConfigMap, a Secret, a Service, a RoleBinding and a Deployment.
import { ConfigMap, Deployment, RoleBinding, Secret, Service } from "../../../kube/api/builtin.ts";
import type { Draft } from "../../../kube/client/client.ts";
import { defineController } from "../../../kube/controller/controller.ts";
import { Gadget } from "./harness.ts";

/** Children whose fields the API server defaults or normalizes in different ways. */
export const plan = (ns: string, name: string, spec: Gadget["spec"]): Draft[] => {
  const meta = (suffix: string) => ({ name: `${name}-${suffix}`, namespace: ns });
  const labels = { gadget: name };
  return [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: meta("config"),
      data: { text: spec.text ?? "", ...(spec.items?.length && { items: spec.items.join() }) },
    },
    { apiVersion: "v1", kind: "Secret", metadata: meta("secret"), stringData: { password: "opensesame" } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: meta("service"),
      spec: {
        selector: labels,
        ports: (spec.items ?? ["http"]).map((item, at) => ({ name: item, port: 80 + at, targetPort: 8080 + at })),
      },
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: meta("binding"),
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name }],
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { ...meta("deployment"), annotations: {} },
      spec: {
        replicas: spec.replicas ?? 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            volumes: [{ name: "scratch", emptyDir: { sizeLimit: "1024Mi" } }],
            containers: [
              {
                name: "main",
                image: "example.invalid/app:1",
                ports: [{ containerPort: 8080 }],
                env: [
                  { name: "A", value: "1" },
                  { name: "EMPTY", value: "" },
                ],
                resources: { requests: { cpu: "1000m", memory: "1024Mi" }, limits: { memory: "1024Mi" } },
                volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
                securityContext: { capabilities: { drop: ["ALL"] } },
              },
            ],
          },
        },
      },
    },
  ];
};
export const owns = [ConfigMap, Secret, Service, RoleBinding, Deployment];
export const gadgets = (more: Partial<Parameters<typeof defineController<Gadget>>[0]> = {}) =>
  defineController<Gadget>({
    name: "gadget",
    for: Gadget,
    owns,
    reconcile: (object) => ({
      children: plan(object.metadata.namespace ?? "", object.metadata.name, object.spec),
      status: { text: object.spec.text, count: 3 },
    }),
    ...more,
  });
