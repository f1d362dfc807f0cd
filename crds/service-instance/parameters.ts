// The Secret with parameters for a broker, or from it: whose it is, and what it says. Pure.
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import type { Secret } from "../../kube/api/builtin.ts";
import { INTERNAL_LABELS } from "../labels.ts";

/** Bytes of parameters. */
export const MAX_PARAMETERS_BYTES = 64 * 1024;

/** The object's own Secrets have this label, with its GUID. */
export interface ParametersOwner {
  label: string;
  guid: string;
}

/** The parameters in a Secret that is the object's own or labelled for use; undefined for any other, and where there is no JSON object of at most `most` bytes. */
export function parametersIn(
  secret: ObjectOf<typeof Secret> | undefined,
  { label, guid }: ParametersOwner,
  most = MAX_PARAMETERS_BYTES,
): object | undefined {
  const labels = secret?.metadata.labels ?? {};
  const isAllowed = labels[INTERNAL_LABELS.envAllowed] === "allowed" || labels[label] === guid;
  const encoded = isAllowed ? secret?.data?.["parameters"] : undefined;
  return encoded === undefined || encoded.length > most * 1.4 ? undefined : parseObject(encoded);
}

function parseObject(encoded: string): object | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(encoded, "base64").toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined; // a person wrote it
  }
}
