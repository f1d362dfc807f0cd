// GET /oauth/authorize as `cf ssh` and `cf ssh-code` ask it: a code that opens the SSH proxy once.
import { LRUCache } from "lru-cache";
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
const TOO_MANY = "You have asked for too many codes. Wait a minute.";
const TOO_LARGE = "You are in too many groups for cf ssh. Run a command beside the app with cf run-task.";
const OTHER_CLIENT = `There are codes for the client ${SSH_CLIENT} alone, with response_type=code.`;

/** Codes of one user within a minute: each is an object until it is used or has expired. */
const MAX_CODES = 30;
const WINDOW_MS = 60_000;
const MAX_USERS = 10_000;

export function sshCodeEndpoint({ ssh }: Pick<Services, "ssh">): Endpoint {
  const asked = new LRUCache<string, { codes: number }>({ max: MAX_USERS, ttl: WINDOW_MS });
  const mayAsk = (user: string): boolean => {
    const counted = asked.get(user) ?? { codes: 0 };
    if (counted.codes === 0) asked.set(user, counted);
    counted.codes += 1;
    return counted.codes <= MAX_CODES;
  };
  return endpoint({
    method: "GET",
    path: "/oauth/authorize",
    permission: "anyone",
    query,
    summary: "Get a code for cf ssh, valid once and for a minute",
    handler: async ({ caller, query: { client_id, response_type }, base }): Promise<Reply> => {
      if (!ssh) return refuse(NO_PROXY);
      if (!caller) return refuse(NO_LOGIN);
      if (client_id !== SSH_CLIENT || response_type !== "code") return refuse(OTHER_CLIENT);
      if (!mayAsk(caller.name)) return refuse(TOO_MANY);
      const code = await ssh.codes.make(caller);
      if (code === undefined) return refuse(TOO_LARGE);
      // To no address that the request names: the client reads the code, and follows nothing.
      const location = `${base}/login?code=${code}`;
      return { status: 302, headers: { location, "cache-control": "no-store" } };
    },
  });
}

/** In a format of UAA whose description `cf` prints as it is. */
function refuse(description: string): Reply {
  return { status: 400, body: { error: "invalid_scim_resource", error_description: description } };
}
