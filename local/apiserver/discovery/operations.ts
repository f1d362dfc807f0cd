// The paths of one resource as OpenAPI v3 describes them: operations with their names, parameters, bodies and answers.
import { patchTypes } from "../registry/patch.ts";
import type { ResourceType, VersionType } from "../registry/types.ts";

export const REF = "#/components/schemas/";
export const META = "io.k8s.apimachinery.pkg.apis.meta.v1";

export interface Parameter {
  name: string;
  in: "query" | "path";
  required?: boolean;
  schema: { type: string; uniqueItems: boolean };
}

interface Content {
  content: Record<string, { schema: { $ref: string } }>;
}

export interface Operation {
  tags: string[];
  description: string;
  operationId: string;
  parameters?: Parameter[];
  requestBody?: Content & { required?: boolean };
  responses: Record<string, { description: string } & Partial<Content>>;
  "x-kubernetes-action": string;
  "x-kubernetes-group-version-kind": { group: string; version: string; kind: string };
}

export type PathItem = Partial<Record<"get" | "put" | "post" | "patch" | "delete", Operation>> & {
  parameters?: Parameter[];
};

const query = (name: string, type = "string"): Parameter => ({
  name,
  in: "query",
  schema: { type, uniqueItems: true },
});
const place = (name: string): Parameter => ({
  name,
  in: "path",
  required: true,
  schema: { type: "string", uniqueItems: true },
});

const PRETTY = query("pretty");
const WRITE = [query("dryRun"), query("fieldManager"), query("fieldValidation")];
const PATCH = [...WRITE, query("force", "boolean")];
const LIST = [
  query("allowWatchBookmarks", "boolean"),
  query("continue"),
  query("fieldSelector"),
  query("labelSelector"),
  query("limit", "integer"),
  query("resourceVersion"),
  query("resourceVersionMatch"),
  query("sendInitialEvents", "boolean"),
  query("timeoutSeconds", "integer"),
  query("watch", "boolean"),
];
const DELETE = [
  query("dryRun"),
  query("gracePeriodSeconds", "integer"),
  query("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
  query("orphanDependents", "boolean"),
  query("propagationPolicy"),
];
const FORMS = ["application/json", "application/yaml"];

const title = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** `rbac.authorization.k8s.io` is RbacAuthorization, the core group Core. */
function groupTitle(group: string): string {
  return group === ""
    ? "Core"
    : group
        .replace(/\.k8s\.io$/, "")
        .split(/[.-]/)
        .map(title)
        .join("");
}

/** Common parts of a resource's operations. */
interface Subject {
  type: ResourceType;
  version: VersionType;
  /** Name of the resource's schema. */
  schema: string;
}

interface Act {
  verb: string;
  action: string;
  description: string;
  /** Behind group and version in the name: `NamespacedWidgetStatus`. */
  of: string;
  codes: string[];
  /** Schema of the answer. */
  answer: string;
  parameters?: Parameter[];
  body?: Content & { required?: boolean };
}

const DESCRIPTIONS: Record<string, string> = { 200: "OK", 201: "Created", 202: "Accepted" };
const contentOf = (schema: string, forms = FORMS): Content => ({
  content: Object.fromEntries(forms.map((form) => [form, { schema: { $ref: REF + schema } }])),
});

function operation(
  { type, version }: Subject,
  { verb, action, description, of, codes, answer, parameters, body }: Act,
): Operation {
  const group = groupTitle(type.group);
  return {
    tags: [`${group.charAt(0).toLowerCase()}${group.slice(1)}_${version.version}`],
    description,
    operationId: `${verb}${group}${title(version.version)}${of}`,
    ...(parameters && { parameters }),
    ...(body && { requestBody: body }),
    responses: {
      ...Object.fromEntries(
        codes.map((code) => [code, { description: DESCRIPTIONS[code] ?? "", ...contentOf(answer) }]),
      ),
      401: { description: "Unauthorized" },
    },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": { group: type.group, version: version.version, kind: type.kind },
  };
}

/** Subresources that are described, and the schema of what they answer with; "" for the resource's own. */
const ANSWERS: Record<string, string> = { status: "", scale: "io.k8s.api.autoscaling.v1.Scale" };

/** All paths of one version of a resource. @param schema the name of its schema */
export function pathsOf(type: ResourceType, version: VersionType, schema: string): Record<string, PathItem> {
  const subject = { type, version, schema };
  const root = type.group ? `/apis/${type.group}/${version.version}` : `/api/${version.version}`;
  const collection = `${root}${type.namespaced ? "/namespaces/{namespace}" : ""}/${type.resource}`;
  const scope = type.namespaced ? "Namespaced" : "";
  const inScope = type.namespaced ? [place("namespace"), PRETTY] : [PRETTY];
  const named = [place("name"), ...inScope];
  const paths: Record<string, PathItem> = {
    [collection]: { ...onCollection(subject, `${scope}${type.kind}`), parameters: inScope },
    [`${collection}/{name}`]: {
      ...onOne(subject, `${scope}${type.kind}`, schema),
      ...deletion(subject, `${scope}${type.kind}`),
      parameters: named,
    },
  };
  for (const { name } of version.subresources.filter((one) => one.name in ANSWERS)) {
    paths[`${collection}/{name}/${name}`] = {
      ...onOne(
        subject,
        `${scope}${type.kind}${title(name)}`,
        ANSWERS[name] || schema,
        `${name} of the specified ${type.kind}`,
      ),
      parameters: named,
    };
  }
  if (type.namespaced)
    paths[`${root}/${type.resource}`] = {
      get: listing(subject, `${type.kind}ForAllNamespaces`),
      parameters: [...LIST, PRETTY],
    };
  return paths;
}

function listing(subject: Subject, of: string, parameters?: Parameter[]): Operation {
  return operation(subject, {
    verb: "list",
    action: "list",
    description: `list objects of kind ${subject.type.kind}`,
    of,
    codes: ["200"],
    answer: `${subject.schema}List`,
    ...(parameters && { parameters }),
  });
}

function onCollection(subject: Subject, of: string): PathItem {
  const { type, schema } = subject;
  return {
    get: listing(subject, of, LIST),
    post: operation(subject, {
      verb: "create",
      action: "post",
      description: `create a ${type.kind}`,
      of,
      codes: ["200", "201", "202"],
      answer: schema,
      parameters: WRITE,
      body: { ...contentOf(schema), required: true },
    }),
    delete: operation(subject, {
      verb: "delete",
      action: "deletecollection",
      description: `delete collection of ${type.kind}`,
      of: `Collection${of}`,
      codes: ["200"],
      answer: `${META}.Status`,
      parameters: [...DELETE, ...LIST.filter(({ name }) => name !== "watch" && name !== "allowWatchBookmarks")],
    }),
  };
}

function onOne(subject: Subject, of: string, answer: string, what = `the specified ${subject.type.kind}`): PathItem {
  const patches: Content = {
    content: Object.fromEntries(
      patchTypes(subject.type).map((form) => [form, { schema: { $ref: `${REF}${META}.Patch` } }]),
    ),
  };
  return {
    get: operation(subject, {
      verb: "read",
      action: "get",
      description: `read ${what}`,
      of,
      codes: ["200"],
      answer,
      ...(!subject.type.builtin && { parameters: [query("resourceVersion")] }),
    }),
    put: operation(subject, {
      verb: "replace",
      action: "put",
      description: `replace ${what}`,
      of,
      codes: ["200", "201"],
      answer,
      parameters: WRITE,
      body: { ...contentOf(answer), required: true },
    }),
    patch: operation(subject, {
      verb: "patch",
      action: "patch",
      description: `partially update ${what}`,
      of,
      codes: ["200"],
      answer,
      parameters: PATCH,
      body: { ...patches, required: true },
    }),
  };
}

function deletion(subject: Subject, of: string): PathItem {
  const body = contentOf(`${META}.DeleteOptions`);
  return {
    delete: operation(subject, {
      verb: "delete",
      action: "delete",
      description: `delete a ${subject.type.kind}`,
      of,
      codes: ["200", "202"],
      answer: `${META}.Status`,
      parameters: DELETE,
      body,
    }),
  };
}
