// Presents a ServiceBroker as CF's JSON. Its credentials are never shown.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ServiceBroker } from "../../crds/service-broker/service-broker.ts";
import { Space } from "../../crds/space/space.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { link, presentIdentity, presentMetadata, toOneRelationship } from "../http/presentation.ts";

/** GUID of the space whose broker it is; undefined for a broker of the whole platform. */
export function brokerSpaceGUID(cache: ClusterCache, namespace: string | undefined): string | undefined {
  const space = namespace === SYSTEM_NAMESPACE ? undefined : cache.spaceOf(namespace);
  return space && cache.guid(Space, space);
}

export function presentBroker(cache: ClusterCache, broker: ServiceBroker, base: string): object {
  const at = presentIdentity(cache, ServiceBroker, broker);
  const space = brokerSpaceGUID(cache, broker.metadata.namespace);
  return {
    ...at,
    name: broker.spec.name,
    url: broker.spec.url,
    ...(broker.spec.caBundle !== undefined && { ca_bundle: broker.spec.caBundle }),
    relationships: { ...(space !== undefined && { space: toOneRelationship(space) }) },
    ...presentMetadata(broker),
    links: {
      self: link(`${base}/v3/service_brokers/${at.guid}`),
      service_offerings: link(`${base}/v3/service_offerings?service_broker_guids=${at.guid}`),
      ...(space !== undefined && { space: link(`${base}/v3/spaces/${space}`) }),
    },
  };
}
