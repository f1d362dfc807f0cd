// Whether `cf ssh` is allowed in an app.
import { App } from "../../crds/app/app.ts";
import { findSSHProblem } from "../../crds/app/ssh.ts";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import type { Services } from "../routing/services.ts";

export const appSSHEndpoints = ({ ssh }: Pick<Services, "ssh">): readonly Endpoint[] => [
  endpoint({
    method: "GET",
    path: "/v3/apps/:guid/ssh_enabled",
    permission: { verb: "get", on: App },
    summary: "Check whether SSH is enabled",
    handler: ({ session, params }) => {
      const app = session.get(App, params.guid);
      const space = session.cache.spaceOf(app.metadata.namespace);
      const reason = findSSHProblem(app, space, { isServed: ssh !== undefined });
      return ok({ enabled: reason === undefined, reason: reason ?? "" });
    },
  }),
];
