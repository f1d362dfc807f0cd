// GET /oauth/authorize as `cf ssh` and `cf ssh-code` ask it: a code that opens the SSH proxy once.
import { z } from "zod";
import { SSH_CLIENT } from "../../crds/app/ssh.ts";
import { endpoint, type Endpoint, type Reply } from "../routing/endpoint.ts";
import type { Services } from "../routing/services.ts";

const query = z.object({
  client_id: z.string().max(256).optional(),
  response_type: z.string().max(256).optional(),
  grant_type: z.string().max(256).optional(),
  redirect_uri: z.string().max(2048).optional(),
  scope: z.string().max(2048).optional(),
  state: z.string().max(2048).optional(),
});

const NO_PROXY = "SSH into apps is not served here. Run a command beside the app with cf run-task.";
const NO_LOGIN =
  "cf ssh needs a login by token: take an address of token login (cf api), then cf auth NAME TOKEN. docs/clients.md lists the addresses.";
const OTHER_CLIENT = `There are codes for the client ${SSH_CLIENT} alone, with response_type=code.`;

export function sshCodeEndpoint({ ssh }: Pick<Services, "ssh">): Endpoint {
  return endpoint({
    method: "GET",
    path: "/oauth/authorize",
    permission: "anyone",
    query,
    summary: "Get a code for cf ssh, valid once and for a minute",
    handler: async ({ caller, query: asked, base }): Promise<Reply> => {
      if (!ssh) return refuse(NO_PROXY);
      if (!caller) return refuse(NO_LOGIN);
      if (asked.client_id !== SSH_CLIENT || asked.response_type !== "code") return refuse(OTHER_CLIENT);
      // To no address that the request names: the client reads the code, and follows nothing.
      const location = `${base}/login?code=${await ssh.codes.seal(caller)}`;
      return { status: 302, headers: { location, "cache-control": "no-store" } };
    },
  });
}

/** In a format of UAA whose description `cf` prints as it is. */
function refuse(description: string): Reply {
  return { status: 400, body: { error: "invalid_scim_resource", error_description: description } };
}
