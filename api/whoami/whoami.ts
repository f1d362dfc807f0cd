// `/whoami`: the caller's name and kind, which `cf` requests in Kubernetes mode.
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";

export const whoamiEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/whoami",
    permission: "authenticated",
    summary: "Get the caller's name and kind",
    handler: ({ session }) => ok({ name: session.caller.name, kind: session.caller.kind }),
  }),
];
