// Who the caller is, as `cf` asks in Kubernetes mode.
import { endpoint, ok, type Endpoint } from "../http/endpoint.ts";

export const whoamiEndpoints: readonly Endpoint[] = [
  endpoint("GET", "/whoami", { permission: "authenticated", summary: "Name and kind of the caller" }, ({ as }) =>
    ok({ name: as.caller.name, kind: as.caller.kind }),
  ),
];
