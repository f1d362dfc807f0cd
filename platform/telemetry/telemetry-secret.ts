// The secret from which processes of the platform derive the tokens that they authenticate with.
import { randomBytes } from "node:crypto";
import { Secret } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists } from "../../kube/client/errors.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";

/** The Secret with the key `token`, from which platform/peers/address-token.ts derives the token of each address. It is never sent itself. */
export const TELEMETRY_SECRET = "cupola-telemetry";

/** Returns the secret. The first process creates it. */
export async function ensureTelemetrySecret(
  client: KubeClient,
): Promise<{ secret: string; secretRef: { name: string } }> {
  const key = { namespace: SYSTEM_NAMESPACE, name: TELEMETRY_SECRET };
  const found = await client.find(Secret, key);
  if (!found) {
    const draft = {
      metadata: key,
      type: "Opaque",
      data: { token: Buffer.from(randomBytes(24).toString("base64url")).toString("base64") },
    };
    await client.create(Secret, draft).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
  const { data } = found ?? (await client.get(Secret, key));
  return { secret: decodeBase64(data?.["token"]), secretRef: { name: TELEMETRY_SECRET } };
}

export function decodeBase64(value: string | undefined): string {
  return Buffer.from(value ?? "", "base64").toString("utf8");
}
