// A row of the contract: one named promise of a Kubernetes API server, told as calls and what they must answer.
import type { KeyPair, Subject } from "../../../kube/server/pki.ts";
import type { Api, Json } from "./api.ts";

/** Tools of a row. Nothing is shared between rows but the Widget kind. */
export interface Scene {
  /** As the administrator. */
  api: Api;
  /** A namespace of this row's own. */
  ns: string;
  /** A name that no other row uses. */
  unique(prefix: string): string;
  /** A client certificate that the server trusts. */
  issueClient(subject: Subject): Promise<KeyPair>;
  /** Tries until `check` throws no more, at most ten seconds. For what a server does in its own time. */
  eventually<T>(check: () => Promise<T>): Promise<T>;
}

export interface Row {
  name: string;
  run(scene: Scene): Promise<void>;
}

export const row = (name: string, run: Row["run"]): Row => ({ name, run });

export const configMaps = (ns: string) => `/api/v1/namespaces/${ns}/configmaps`;
export const configMap = (name: string, data: Record<string, string> = {}, metadata: Json = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data,
});

export const group = "conformance.example";
export const widgets = (ns: string) => `/apis/${group}/v1/namespaces/${ns}/widgets`;
export const widget = (name: string, spec: Json = {}, metadata: Json = {}) => ({
  apiVersion: `${group}/v1`,
  kind: "Widget",
  metadata: { name, ...metadata },
  spec,
});

const string = { type: "string" };
const integer = { type: "integer" };

/** A CRD of one version, v1, with a status and whatever schema the row wants to see judged. */
export function crd(plural: string, kind: string, spec: Json, more: { version?: Json; root?: Json } = {}): Json {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: { spec, status: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
              ...more.root,
            },
          },
          ...more.version,
        },
      ],
    },
  };
}

/** The kind most rows use. */
export const widgetCrd: Json = (() => {
  const made = crd("widgets", "Widget", {
    type: "object",
    description: "What the widget should be.",
    properties: {
      size: { ...integer, minimum: 0, default: 1, description: "How large." },
      replicas: { ...integer, default: 1 },
      color: { ...string, enum: ["red", "green", "blue"] },
      note: { ...string, maxLength: 10, pattern: "^[a-z ]*$" },
      fixed: { ...string, maxLength: 20 },
      tags: { type: "array", items: { ...string, maxLength: 20 }, maxItems: 10, "x-kubernetes-list-type": "set" },
      steps: { type: "array", items: { ...string, maxLength: 20 }, maxItems: 10 },
      ports: {
        type: "array",
        maxItems: 10,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: {
          type: "object",
          required: ["name"],
          properties: {
            name: { ...string, maxLength: 20 },
            port: { ...integer, default: 80 },
            protocol: { ...string, default: "TCP" },
          },
        },
      },
      options: { type: "object", additionalProperties: string },
      nested: { type: "object", default: {}, properties: { mode: { ...string, default: "auto" }, level: integer } },
      free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      target: { "x-kubernetes-int-or-string": true },
    },
    "x-kubernetes-validations": [
      {
        rule: "has(self.fixed) == has(oldSelf.fixed) && (!has(self.fixed) || self.fixed == oldSelf.fixed)",
        message: "fixed cannot change",
        fieldPath: ".fixed",
      },
      {
        rule: "!has(self.color) || self.color != 'blue' || self.size >= 10",
        messageExpression: "'blue needs size 10, this is ' + (self.size > 5 ? 'nearly' : 'not')",
        reason: "FieldValueForbidden",
      },
    ],
  });
  const [version] = made.spec.versions;
  made.spec.names.shortNames = ["wg"];
  made.spec.names.categories = ["conformance"];
  version.selectableFields = [{ jsonPath: ".spec.color" }];
  version.subresources.scale = {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    labelSelectorPath: ".status.selector",
  };
  version.additionalPrinterColumns = [
    { name: "Size", type: "integer", jsonPath: ".spec.size", description: "How large." },
    { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: "Note", type: "string", jsonPath: ".spec.note", priority: 1 },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ];
  version.schema.openAPIV3Schema.description = "A Widget is something to judge a server with.";
  version.schema.openAPIV3Schema.properties.status = {
    type: "object",
    properties: {
      replicas: integer,
      selector: string,
      observedGeneration: integer,
      conditions: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        items: { type: "object", required: ["type", "status"], properties: { type: string, status: string } },
      },
    },
  };
  return made;
})();
