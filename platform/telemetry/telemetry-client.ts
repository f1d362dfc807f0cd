// Reads logs and stats for an API replica: from every endpoint that a class publishes, and from the other replicas.
import type { Logger } from "pino";
import { Secret } from "../../kube/api/builtin.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Member } from "../../kube/lease/member.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { TelemetryEndpoint } from "../../telemetry/endpoint-agent.ts";
import { telemetryClient, type TelemetryClient } from "../../telemetry/telemetry-client.ts";
import { REPLICA_ANNOTATIONS } from "../leases/replica-membership.ts";
import { deriveAddressToken, isHttpAddress } from "../peers/address-token.ts";
import type { TelemetryAddress } from "./replica-logs.ts";
import { TELEMETRY_SECRET, tokenOf } from "./telemetry-secret.ts";

export interface PlatformTelemetryOptions {
  informers: Informers;
  log: Logger;
  /** Replicas to ask for the logs of a source; without one, for stats. */
  addresses: (source?: string) => TelemetryAddress[];
  members: () => readonly Member[];
}

/** Reads from every endpoint that a class publishes, and from the replicas that `addresses` names. */
export function createTelemetryClient({
  informers,
  log,
  addresses,
  members,
}: PlatformTelemetryOptions): TelemetryClient {
  const classes = informers.ensure(BackendClass).store;
  const secrets = informers.ensure(Secret, {
    namespace: SYSTEM_NAMESPACE,
    fieldSelector: `metadata.name=${TELEMETRY_SECRET}`,
  }).store;
  const findSecret = (name: string): string | undefined => {
    const secret = secrets.find({ namespace: SYSTEM_NAMESPACE, name });
    return secret && tokenOf(secret);
  };
  /** A class publishes its URL; the process behind it publishes its certificate authority in its membership. */
  const findAuthority = (url: string): string | undefined =>
    members().find(({ annotations }) => annotations[REPLICA_ANNOTATIONS.telemetry] === url)?.annotations[
      REPLICA_ANNOTATIONS.authority
    ];
  return telemetryClient({
    endpoints: ({ source }) => {
      if (!classes.synced || !secrets.synced) return [];
      const platformSecret = findSecret(TELEMETRY_SECRET);
      const replicas =
        platformSecret === undefined
          ? []
          : addresses(source).flatMap((address) => toEndpoints(address, platformSecret));
      const published = classes.list().flatMap((found): TelemetryEndpoint[] => {
        const endpoint = found.status?.endpoint;
        const secret = endpoint?.secretRef && findSecret(endpoint.secretRef.name);
        return endpoint && secret !== undefined
          ? toEndpoints({ url: endpoint.url, ...omitUndefined({ authority: findAuthority(endpoint.url) }) }, secret)
          : [];
      });
      return [...published, ...replicas];
    },
    onError: (error) => log.warn({ err: error }, "a telemetry endpoint does not answer"),
  });
}

/** Anybody may have written the address to a status, so a request carries only the token of that address, and none is sent to a non-HTTP address. */
function toEndpoints(address: TelemetryAddress, secret: string): TelemetryEndpoint[] {
  return isHttpAddress(address.url)
    ? [{ ...address, token: deriveAddressToken(secret, "telemetry", address.url) }]
    : [];
}
