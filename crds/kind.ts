// The definition of one of our kinds: its schema, and the facts from which the platform's tables of kinds are derived.
import type { z } from "zod";
import { defineResource, type DefinitionInput, type ResourceDefinition } from "../kube/api/resource.ts";

export const READ = ["get", "list", "watch"] as const;
export const WRITE = ["create", "update", "patch", "delete"] as const;

/** Namespaces of the platform, by the object that they belong to. */
export type NamespaceKind = "org" | "space" | "system";

/** These ClusterRoles have these verbs on the kind, or on a (virtual) subresource of it. */
export interface KindPermission {
  subresource?: string;
  verbs: readonly string[];
  roles: readonly string[];
}

/** Fields that need a permission besides update on the object. */
export interface KindFieldPermission {
  /** Virtual subresource of the permission; its verb is update. */
  subresource: string;
  /** Fields of the spec. A dot separates nested fields. */
  fields: readonly string[];
  /** Set when labels and annotations need the permission, too. */
  metadata?: true;
  /** A CEL expression: whoever may update the object may change the fields where it is true. */
  unless?: string;
}

export interface KindAudit {
  /** Writes are recorded as `audit.<noun>.create`, `.update` and `.<deletion>` with the object as their target, of type `noun`. */
  lifecycle?: { noun: string; deletion: "delete" | "delete-request" };
  /** Recorded writes past the CF API. Deletions only of kinds that neither controllers nor the garbage collector delete. */
  outsideWrites?: "changes" | "changes and deletions";
}

/** The object in CF's words, and its deletion: `organization.delete`. */
export type DeletionOperation = `${string}.delete`;

/** Facts that the platform's tables of kinds are derived from. */
export interface KindFacts {
  /** The namespaces that hold objects of the kind; any when left out. A kind that lives in spaces is deleted with its space. */
  livesIn?: readonly NamespaceKind[];
  /** Kinds that create or change others are deleted first with a space, and kinds that others create last. */
  deletedWithSpace?: "first" | "early" | "last";
  /** Admins may do everything and read-only admins may read everything, so neither is listed. */
  permissions?: readonly KindPermission[];
  fieldPermissions?: readonly KindFieldPermission[];
  /** Audit events of writes. */
  audit?: KindAudit;
  /** Operation of the CF API's jobs that delete an object; such a job is complete when the object is gone. */
  deletionJob?: DeletionOperation;
  /** False for kinds that the CF API does not show. */
  isReadByAPI?: false;
  /** True for a kind of several namespaces whose dependents are all in the object's own; kinds of spaces alone need no mark. */
  hasLocalDependents?: true;
}

export type KindDefinition = ResourceDefinition & KindFacts;

/** Defines a kind. crds/definitions.ts lists it, and its facts are read from there. */
export function defineKind<Spec extends z.ZodObject, Status extends z.ZodObject>(
  input: DefinitionInput<Spec, Status> & KindFacts,
): ResourceDefinition<Spec, Status> {
  return { ...input, ...defineResource<Spec, Status>(input) };
}
