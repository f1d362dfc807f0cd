// Actions of operators on the whole platform: `/v3/admin/actions`.
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { newGUID } from "../../crds/guid.ts";
import { accepted, endpoint, type Endpoint } from "../routing/endpoint.ts";
import { newJob } from "../jobs/jobs.ts";

export const adminEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "POST",
    path: "/v3/admin/actions/clear_buildpack_cache",
    permission: { verb: "patch", on: BackendClass },
    summary: "Let every app's next build start without a cache",
    handler: async ({ session }) => {
      session.authorize({ verb: "patch", on: BackendClass });
      const builders = session.list(BackendClass, undefined, ({ spec }) => spec.role === "builder");
      const buildCache = newGUID();
      for (const builder of builders)
        await session.patch(BackendClass, builder, { type: "merge", body: { spec: { buildCache } } });
      return accepted(await newJob(session, "admin.clear_buildpack_cache", buildCache));
    },
  }),
];
