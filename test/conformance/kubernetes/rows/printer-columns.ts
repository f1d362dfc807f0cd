// Rows: tables of built-in kinds as people see them: the columns of each kind, and cells of some.
import { expect } from "vitest";
import type { Json } from "../api.ts";
import { row, type Row } from "../row.ts";

const asTable = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
const selector = { matchLabels: { a: "b" } };
const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "one", image: "i:1" }] } };

/** `Name*` is shown with `-o wide` only. */
function columns(resource: string, path: (ns: string) => string, expected: string): Row {
  return row(`columns of ${resource}`, async ({ api, ns }) => {
    const { body } = await api.get(path(ns), asTable);
    expect(
      body.columnDefinitions.map(({ name, priority }: Json) => (priority > 0 ? `${name}*` : name)).join(", "),
    ).toBe(expected);
  });
}

const within = (root: string, resource: string) => (ns: string) => `${root}/namespaces/${ns}/${resource}`;
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const admission = "/apis/admissionregistration.k8s.io/v1";

/** The cells of a new object, without its age. */
function cells(name: string, path: (ns: string) => string, object: Json, expected: Json[]): Row {
  return row(`cells: ${name}`, async ({ api, ns }) => {
    const made = await api.post(path(ns), object);
    expect(made.status, made.text).toBe(201);
    const { body } = await api.get(`${path(ns)}/${object.metadata.name}`, asTable);
    const age = body.columnDefinitions.findIndex(({ name: column }: Json) => column === "Age");
    expect(body.rows[0].cells.filter((_: Json, index: number) => index !== age)).toEqual(expected);
  });
}

export const printerColumnRows = [
  columns("namespaces", () => "/api/v1/namespaces", "Name, Status, Age"),
  columns("configmaps", within("/api/v1", "configmaps"), "Name, Data, Age"),
  columns("secrets", within("/api/v1", "secrets"), "Name, Type, Data, Age"),
  columns("services", within("/api/v1", "services"), "Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector*"),
  columns("serviceaccounts", within("/api/v1", "serviceaccounts"), "Name, Secrets, Age"),
  columns(
    "pods",
    within("/api/v1", "pods"),
    "Name, Ready, Status, Restarts, Age, IP*, Node*, Nominated Node*, Readiness Gates*",
  ),
  columns(
    "events",
    within("/api/v1", "events"),
    "Last Seen, Type, Reason, Object, Subobject*, Source*, Message, First Seen*, Count*, Name*",
  ),
  columns(
    "deployments",
    within("/apis/apps/v1", "deployments"),
    "Name, Ready, Up-to-date, Available, Age, Containers*, Images*, Selector*",
  ),
  columns(
    "replicasets",
    within("/apis/apps/v1", "replicasets"),
    "Name, Desired, Current, Ready, Age, Containers*, Images*, Selector*",
  ),
  columns(
    "daemonsets",
    within("/apis/apps/v1", "daemonsets"),
    "Name, Desired, Current, Ready, Up-to-date, Available, Node Selector, Age, Containers*, Images*, Selector*",
  ),
  columns(
    "jobs",
    within("/apis/batch/v1", "jobs"),
    "Name, Status, Completions, Duration, Age, Containers*, Images*, Selector*",
  ),
  columns("leases", within("/apis/coordination.k8s.io/v1", "leases"), "Name, Holder, Age"),
  columns("ingresses", within("/apis/networking.k8s.io/v1", "ingresses"), "Name, Class, Hosts, Address, Ports, Age"),
  columns("roles", within(rbac, "roles"), "Name, Created At"),
  columns("rolebindings", within(rbac, "rolebindings"), "Name, Role, Age, Users*, Groups*, ServiceAccounts*"),
  columns("clusterroles", () => `${rbac}/clusterroles`, "Name, Created At"),
  columns(
    "customresourcedefinitions",
    () => "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Name, Created At",
  ),
  columns(
    "validatingadmissionpolicies",
    () => `${admission}/validatingadmissionpolicies`,
    "Name, Validations, ParamKind, Age",
  ),
  columns(
    "validatingwebhookconfigurations",
    () => `${admission}/validatingwebhookconfigurations`,
    "Name, Webhooks, Age",
  ),
  columns("mutatingwebhookconfigurations", () => `${admission}/mutatingwebhookconfigurations`, "Name, Webhooks, Age"),
  cells(
    "a ConfigMap counts its keys",
    within("/api/v1", "configmaps"),
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { a: "1", b: "2" } },
    ["c", 2],
  ),
  cells(
    "a Secret shows its type",
    within("/api/v1", "secrets"),
    { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { a: "1" } },
    ["s", "Opaque", 1],
  ),
  cells(
    "a Service without a cluster IP",
    within("/api/v1", "services"),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "s" },
      spec: {
        clusterIP: "None",
        selector: { a: "b" },
        ports: [
          { name: "x", port: 80 },
          { name: "y", port: 81, protocol: "UDP" },
        ],
      },
    },
    ["s", "ClusterIP", "None", "<none>", "80/TCP,81/UDP", "a=b"],
  ),
  cells(
    "a Deployment without replicas",
    within("/apis/apps/v1", "deployments"),
    { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d" }, spec: { replicas: 0, selector, template } },
    ["d", "0/0", 0, 0, "one", "i:1", "a=b"],
  ),
  cells(
    "a RoleBinding names its subjects",
    within(rbac, "rolebindings"),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "b" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [
        { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "u" },
        { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "g" },
        { kind: "ServiceAccount", name: "sa", namespace: "n" },
      ],
    },
    ["b", "ClusterRole/view", "u", "g", "n/sa"],
  ),
  cells(
    "a Lease shows its holder",
    within("/apis/coordination.k8s.io/v1", "leases"),
    { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "l" }, spec: { holderIdentity: "me" } },
    ["l", "me"],
  ),
];
