// Parameters for a service broker, in a Secret of the platform, so that they are in no object that others read.
import { randomBytes } from "node:crypto";
import { Secret } from "../../../kube/api/builtin.ts";
import type { KubeObject, OwnerReference } from "../../../kube/api/object.ts";
import { ignoreNotFound } from "../../../kube/client/ignore-gone.ts";
import { apiVersionOf, type ResourceRef } from "../../../kube/api/resource-ref.ts";
import { accessSecret } from "../../access/rbac-lag.ts";
import type { Session } from "../../access/session.ts";
import { requireNotSuspended } from "../../access/suspension.ts";
import { unprocessable } from "../../http/errors.ts";

export type Parameters = Record<string, unknown>;

/** Bytes of JSON. */
const MAX_BYTES = 64 * 1024;
const MAX_DEPTH = 32;

/** A Secret that is there before its object. */
export interface KeptParameters {
  name: string;
  /** It goes with this object. */
  giveTo(ref: ResourceRef, object: KubeObject): Promise<void>;
  /** Its object was refused. */
  discard(): Promise<void>;
}

/** @throws CFError 422 for parameters that are too large or too deep */
export function requireBoundedParameters(parameters: Parameters | null | undefined): void {
  if (!parameters) return;
  if (isDeeper(parameters, MAX_DEPTH)) throw unprocessable(`Parameters may have ${MAX_DEPTH} levels at most.`);
  const bytes = Buffer.byteLength(JSON.stringify(parameters));
  if (bytes > MAX_BYTES) throw unprocessable(`Parameters may have ${MAX_BYTES} bytes as JSON; these have ${bytes}.`);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1));
}

/** Where parameters are kept. */
interface Place {
  namespace: string;
  /** The beginning of the Secret's name. */
  stem: string;
  labels: Record<string, string>;
  /** The object that they are for, where it is there already. */
  owner?: { ref: ResourceRef; object: KubeObject };
}

/** A new Secret under a name of its own each time: another name is what the broker is told of. Undefined without parameters. */
export async function keepParameters(
  session: Session,
  { namespace, stem, labels, owner }: Place,
  parameters: Parameters | null | undefined,
): Promise<KeptParameters | undefined> {
  if (!parameters) return undefined;
  requireNotSuspended(session, namespace);
  const { platformClient, signal } = session;
  const key = { namespace, name: `${stem}-parameters-${randomBytes(4).toString("hex")}` };
  const data = { parameters: Buffer.from(JSON.stringify(parameters)).toString("base64") };
  const metadata = { ...key, labels, ...(owner && { ownerReferences: [toOwner(owner.ref, owner.object)] }) };
  const draft = { metadata, type: "Opaque", immutable: true, data };
  await accessSecret(() => platformClient.create(Secret, draft, { signal }), signal);
  return {
    name: key.name,
    async giveTo(ref, object) {
      if (owner) return;
      const ownerReferences = [toOwner(ref, object)];
      await platformClient.patch(Secret, key, { type: "merge", body: { metadata: { ownerReferences } } }, { signal });
    },
    discard: async () => void (await platformClient.delete(Secret, key)),
  };
}

function toOwner(ref: ResourceRef, { metadata: { name, uid = "" } }: KubeObject): OwnerReference {
  return { apiVersion: apiVersionOf(ref), kind: ref.kind, name, uid };
}

/** Takes away parameters that an object no longer asks for, if they are its own by the label. */
export async function discardParameters(
  { platformClient, signal }: Session,
  key: { namespace: string; name: string },
  [label, guid]: readonly [string, string],
): Promise<void> {
  const secret = await platformClient.find(Secret, key, { signal });
  if (secret?.metadata.labels?.[label] !== guid) return;
  await ignoreNotFound(platformClient.delete(Secret, key, { signal }));
}

/** `write`, with the parameters kept before and given to what it makes; taken away when it fails. */
export async function withParameters<T extends KubeObject>(
  kept: KeptParameters | undefined,
  ref: ResourceRef<T>,
  write: () => Promise<T>,
): Promise<T> {
  let made: T;
  try {
    made = await write();
  } catch (error) {
    await kept?.discard();
    throw error;
  }
  await kept?.giveTo(ref, made);
  return made;
}
