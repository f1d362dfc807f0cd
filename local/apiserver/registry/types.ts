// A resource as the registry knows it: built-in kinds and CRDs both come as ResourceType. Types only.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { TypeView } from "../apply/type-view.ts";
import type { FieldError, GroupVersionKind, JsonSchema, UserInfo, VirtualResource } from "../types.ts";

export interface Column {
  name: string;
  type: string;
  format: string;
  description: string;
  /** 0 is always shown; above that only with `-o wide`. */
  priority: number;
  /** The cell of one object; null or undefined when there is nothing to show. */
  cell: (object: KubeObject) => unknown;
}

export interface Subresource {
  name: string;
  gvk: GroupVersionKind;
  verbs: string[];
}

/** Where a scalable object keeps its numbers: paths of field names. */
export interface ScalePaths {
  specReplicas: string[];
  statusReplicas: string[];
  selector?: string[];
}

/** A served version. */
export interface VersionType {
  /** An object of which nothing is set; absent where that is nothing but its kind. */
  empty?: KubeObject;
  version: string;
  /** View of the whole object, metadata included. */
  view: TypeView;
  /** As published by OpenAPI; references are to the built-in schemas. */
  openapi: JsonSchema;
  subresources: Subresource[];
  scale?: ScalePaths;
  columns: Column[];
  deprecationWarning?: string;
}

export interface Decoded {
  object: KubeObject;
  /** Faults that only `fieldValidation: Strict` refuses, as kube-apiserver words them: `unknown field "spec.foo"`. */
  faults: string[];
}

/** Differences between kinds when objects are written. Functions may change `object`, never `old`. */
export interface Strategy {
  /** From what a client sent to a pruned, defaulted object. Throws StatusError 400 on what cannot be read. */
  decode(body: KubeObject, version: VersionType): Decoded;
  /** The same for what server-side apply made, where the schema was heard already. Absent: as decode. */
  decodeApplied?(body: KubeObject, version: VersionType): Decoded;
  /** A valid applied object as it will be read again; the same object where that is all. */
  settleApplied?(object: KubeObject): KubeObject;
  /** `subresource` is "" but for an object that came into being by a write of its status. */
  prepareCreate(object: KubeObject, subresource: string): void;
  /** `subresource` is "" or "status"; resets the fields that it may not change. */
  prepareUpdate(object: KubeObject, old: KubeObject, subresource: string): void;
  /** Faults for which nothing else is looked at, not even metadata. */
  validateFirst?(object: KubeObject, subresource: string): FieldError[];
  /** `metadata` are faults found there before: with some of them rules do not run. */
  validate(object: KubeObject, old: KubeObject | undefined, subresource: string, metadata: FieldError[]): FieldError[];
  validateName(name: string, isPrefix: boolean): string[];
  /** Fields (below the root) that make `metadata.generation` grow; undefined when the kind has none. */
  generationOf?(object: KubeObject): unknown;
  /** Updates without resourceVersion are taken as "whatever is there". */
  unconditionalUpdate: boolean;
  /** An update of an object that is not there makes it. */
  createsOnUpdate?: boolean;
}

export interface ResourceType {
  group: string;
  resource: string;
  singular: string;
  kind: string;
  listKind: string;
  namespaced: boolean;
  shortNames: string[];
  categories: string[];
  verbs: string[];
  /** The store's name of the resource; two types may share it (events). */
  storageKey: string;
  storageVersion: string;
  /** Best first. */
  versions: VersionType[];
  strategy: Strategy;
  /** Strategic merge patch is for built-in kinds only. */
  builtin: boolean;
  /** Between the stored form and a version's. Absent: only apiVersion differs. */
  fromStored?: (object: KubeObject) => KubeObject;
  toStored?: (object: KubeObject) => KubeObject;
  /** Field selectors besides metadata.name and metadata.namespace: name to value ("" when absent). */
  selectableFields: Record<string, (object: KubeObject) => string>;
  /** Deletion answers with the object instead of a Status. */
  returnsDeleted: boolean;
}

/** Object that a request's path names. */
export interface Target {
  type: ResourceType;
  version: VersionType;
  namespace: string;
  name: string;
  subresource: string;
}

/** A request to the registry, authorized. */
export interface Call {
  target: Target;
  user: UserInfo;
  query: URLSearchParams;
  userAgent: string;
  /** Faults of the body's text (fields given twice), judged together with those of decoding. */
  faults: string[];
  /** Collects `Warning` headers. */
  warnings: string[];
}

/** A resource that only answers create. */
export type Virtual = VirtualResource & { singular: string };
