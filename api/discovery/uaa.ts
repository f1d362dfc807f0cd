// Requests of `cf` to a UAA about users and clients. Each is refused with the next step; api/login/ has those about tokens.
import { endpoint, type Endpoint } from "../routing/endpoint.ts";

const USERS =
  "Users and clients are those of Kubernetes: cf neither makes, removes nor looks them up. Give one a role by its Kubernetes name, for example: cf set-space-role NAME ORG SPACE SpaceDeveloper";
const PASSWORDS =
  "There are no passwords here: cf sends a credential of Kubernetes. Change it where your cluster issues it.";

const REFUSALS = [
  ["GET", "/Users", USERS],
  ["POST", "/Users", USERS],
  ["DELETE", "/Users/:user", USERS],
  ["PUT", "/Users/:user/password", PASSWORDS],
  // cf, which learns no GUID of its user here, leaves it out.
  ["PUT", "/Users/password", PASSWORDS],
  ["GET", "/oauth/clients/:client", USERS],
] as const;

/** In UAA's format of errors; of one with this name `cf` prints only the description. */
export const uaaEndpoints: readonly Endpoint[] = REFUSALS.map(([method, path, description]) =>
  endpoint({
    method,
    path,
    permission: "anonymous",
    summary: "Refused: users and clients are those of Kubernetes",
    handler: () => ({ status: 400, body: { error: "invalid_scim_resource", error_description: description } }),
  }),
);
