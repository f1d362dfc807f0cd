// The requests of the fuzz: hostile bodies and queries at each endpoint that takes one, as people who may do little and as ones who may do nothing.
import { bodyFor, pathFor, type Things } from "../capi/role-requests.ts";
import type { FuzzTarget } from "../fuzz-api/openapi.ts";
import { longQueries, patches } from "./hostile-texts.ts";
import {
  type Bodies,
  type LazyBodies,
  MEBIBYTE,
  PARSED_BY_API,
  PARSED_BY_SERVER,
  pathsOf,
  plainBodies,
  spoiled,
  yamlBodies,
} from "./hostile-bodies.ts";

export interface HostileRequest {
  /** Name, for the report. */
  what: string;
  person: "ann" | "carl";
  at: "api" | "cluster";
  method: string;
  path: string;
  type?: string;
  body?: () => string;
}

const lazy = (body: string | (() => string)): (() => string) => (typeof body === "string" ? () => body : body);

const lazily = (bodies: Bodies): LazyBodies =>
  Object.fromEntries(Object.entries(bodies).map(([what, body]) => [what, lazy(body)]));

/** Parameters that the role matrix calls otherwise. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  destination: "destination_guid",
  org: "org_guid",
  space: "space_guid",
};

const templateOf = ({ path }: FuzzTarget): string =>
  path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => `:${OTHER_NAMES[name] ?? name}`);

/** At an operation of the API: each of its bodies as a space developer, and those that are no valid ones as somebody without a role. */
export function apiRequests(target: FuzzTarget, things: Things): HostileRequest[] {
  const template = templateOf(target);
  const path = pathFor(template, things);
  const { method, media, body } = target;
  const make = (person: "ann" | "carl", bodies: Bodies | LazyBodies): HostileRequest[] =>
    Object.entries(bodies).map(([what, text]) => ({
      what: `${person}: ${method} ${target.path}, ${what}`,
      person,
      at: "api",
      method,
      path,
      ...(media !== undefined && { type: media, body: lazy(text) }),
    }));
  if (media === undefined || media.includes("multipart")) return [];
  if (media.includes("yaml")) return [...make("ann", yamlBodies), ...make("carl", yamlBodies)];
  const valid = bodyFor(`${method} ${template}`, things, "hostile");
  const nearlyRight = spoiled(pathsOf(body ?? {}), valid, PARSED_BY_API);
  return [...make("ann", { ...lazily(plainBodies), ...nearlyRight }), ...make("carl", plainBodies)];
}

/** At a list: queries as long as a request's head may be. */
export function queryRequests(target: FuzzTarget, things: Things): HostileRequest[] {
  if (target.method !== "GET") return [];
  const path = pathFor(templateOf(target), things);
  return Object.entries(longQueries(target.query.map(({ name }) => name))).map(([what, query]) => ({
    what: `ann: GET ${target.path}, ${what}`,
    person: "ann",
    at: "api",
    method: "GET",
    path: `${path}${path.includes("?") ? "&" : "?"}${query}`,
  }));
}

const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const attributes = "spec.resourceAttributes";
const REVIEW_MEMBERS = [
  "metadata.labels",
  "metadata.finalizers",
  "metadata.ownerReferences",
  "metadata.managedFields",
  "spec",
  attributes,
  `${attributes}.name`,
  `${attributes}.labelSelector.requirements`,
  `${attributes}.labelSelector.rawSelector`,
  `${attributes}.fieldSelector.rawSelector`,
  "spec.nonResourceAttributes.path",
].map((path) => path.split("."));
const OBJECT_MEMBERS = [
  "metadata.name",
  "metadata.generateName",
  "metadata.labels",
  "metadata.labels.a",
  "metadata.annotations",
  "metadata.finalizers",
  "metadata.ownerReferences",
  "metadata.managedFields",
  "spec",
  "spec.displayName",
  "spec.lifecycle",
  "spec.env",
  "spec.features",
  "spec.unknown",
  "status",
].map((path) => path.split("."));

/** At the embedded API server. `app`: an App of ann's. */
export function clusterRequests(app: {
  metadata: { name: string; namespace: string };
  spec: object;
}): HostileRequest[] {
  const { name, namespace } = app.metadata;
  const whole = { apiVersion: "cupola.dev/v1alpha1", kind: "App", metadata: { name, namespace }, spec: app.spec };
  const list = `/apis/cupola.dev/v1alpha1/namespaces/${namespace}/apps`;
  const make = (
    person: "ann" | "carl",
    place: [string, string, string],
    bodies: Bodies | LazyBodies,
  ): HostileRequest[] =>
    Object.entries(bodies).map(([what, body]) => {
      const [method, path, type] = place;
      return {
        what: `${person}: ${method} ${path} as ${type}, ${what}`,
        person,
        at: "cluster",
        method,
        path,
        type,
        body: lazy(body),
      };
    });
  const objects = { ...lazily(plainBodies), ...spoiled(OBJECT_MEMBERS, whole, PARSED_BY_SERVER) };
  const reviews = { ...lazily(plainBodies), ...spoiled(REVIEW_MEMBERS, {}, PARSED_BY_SERVER) };
  return [
    ...make("carl", ["POST", REVIEWS, "application/json"], reviews),
    ...make("carl", ["POST", REVIEWS, "application/yaml"], yamlBodies),
    ...make("ann", ["POST", list, "application/json"], objects),
    ...make("ann", ["POST", list, "application/yaml"], yamlBodies),
    ...make("ann", ["PUT", `${list}/${name}`, "application/json"], objects),
    ...make("ann", ["PATCH", `${list}/${name}`, "application/merge-patch+json"], objects),
    ...make("ann", ["PATCH", `${list}/${name}`, "application/json-patch+json"], patches),
    ...make("ann", ["PATCH", `${list}/${name}?fieldManager=x&force=true`, "application/apply-patch+yaml"], {
      ...objects,
      ...lazily(yamlBodies),
    }),
    ...make("ann", ["DELETE", `${list}/none`, "application/json"], plainBodies),
    ...Object.entries(longQueries(["labelSelector", "fieldSelector", "continue"])).map(
      ([what, query]): HostileRequest => ({
        what: `ann: GET ${list}, ${what}`,
        person: "ann",
        at: "cluster",
        method: "GET",
        path: `${list}?${query}`,
      }),
    ),
  ];
}

/** An upload of many parts, and one that is a list of files. */
export function uploadRequests(packageGUID: string): HostileRequest[] {
  const part = (disposition: string, content: string): string =>
    `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
  const bodies: Bodies = {
    "many parts": part('name="x"', "y").repeat(10_000),
    "many headers": part(`name="x"\r\n${"a: b\r\n".repeat(100_000)}`, "y"),
    "long fields": part('name="x"', "y".repeat(100_000)).repeat(10),
    "many files to reuse": part(
      'name="resources"',
      JSON.stringify(Array.from({ length: 9_000 }, (_, at) => ({ fn: `f${at}`, sha1: "0".repeat(40), size: 1 }))),
    ),
    "no list of files": part('name="resources"', "[".repeat(MEBIBYTE / 2)),
    "lines that look like an end": part('name="bits"; filename="a.zip"', "\r\n--".repeat(200_000)),
  };
  return Object.entries(bodies).map(([what, body]) => ({
    what: `ann: an upload, ${what}`,
    person: "ann",
    at: "api",
    method: "POST",
    path: `/v3/packages/${packageGUID}/upload`,
    type: "multipart/form-data; boundary=b",
    body: () => `${body}--b--\r\n`,
  }));
}
