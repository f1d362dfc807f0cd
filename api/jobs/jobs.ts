// GET /v3/jobs/:guid. A deletion is complete when the object is gone; every other operation completes before its job GUID is returned.
import { App } from "../../crds/app/app.ts";
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Org } from "../../crds/org/org.ts";
import { OrgQuota } from "../../crds/org-quota/org-quota.ts";
import { Package } from "../../crds/package/package.ts";
import { Route } from "../../crds/route/route.ts";
import { SecurityGroup } from "../../crds/security-group/security-group.ts";
import { SpaceQuota } from "../../crds/space-quota/space-quota.ts";
import { Space } from "../../crds/space/space.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { endpoint, ok, type Endpoint } from "../http/endpoint.ts";
import { CFError, notFound } from "../http/errors.ts";
import { formatTimestamp } from "../http/timestamps.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import type { Session } from "../access/session.ts";
import { dropletState } from "../cf/droplet/droplet-state.ts";
import { getJobKey } from "./job-key.ts";
import { type Job, toJobGUID, type Operation, operations, parseJobGUID } from "./job-guid.ts";

const kinds: Record<string, ResourceRef> = {
  App,
  Org,
  Space,
  Route,
  Domain,
  Package,
  Droplet,
  Buildpack,
  OrgQuota,
  SpaceQuota,
  SecurityGroup,
};

/** The GUID of a job that starts now. `errors` are given when the operation has already failed. */
export async function newJob(
  session: Session,
  operation: Operation,
  guid: string,
  errors?: readonly string[],
): Promise<string> {
  const startedAt = Math.floor(session.now().getTime() / 1000);
  const key = await getJobKey(session.platformClient);
  return toJobGUID({ operation, guid, startedAt, ...(errors?.length && { errors }) }, key);
}

/** The kind whose deletion completes the job. */
function kindOf(job: Job): ResourceRef | undefined {
  return kinds[operations[job.operation] ?? ""];
}

function stateOf(job: Job, cache: ClusterCache): "PROCESSING" | "COMPLETE" | "FAILED" {
  if (job.errors) return "FAILED";
  if (job.operation === "droplet.upload") return uploadStateOf(cache.findByGUID(Droplet, job.guid));
  const ref = kindOf(job);
  return ref && cache.findByGUID(ref, job.guid) ? "PROCESSING" : "COMPLETE";
}

/** An uploaded file may become an image, which takes its time. */
function uploadStateOf(droplet: Droplet | undefined): "PROCESSING" | "COMPLETE" | "FAILED" {
  const state = droplet && dropletState(droplet);
  if (state === "FAILED") return "FAILED";
  return state === "PROCESSING_UPLOAD" ? "PROCESSING" : "COMPLETE";
}

/** What went wrong: when the operation began, or after it with the droplet. */
function errorsOf(job: Job, cache: ClusterCache): readonly string[] {
  if (job.errors || job.operation !== "droplet.upload") return job.errors ?? [];
  const conditions = cache.findByGUID(Droplet, job.guid)?.status?.conditions ?? [];
  return conditions.flatMap(({ type, status, message }) =>
    type === "Ready" && status === "False" ? [`Uploaded droplet file is invalid: ${message}`] : [],
  );
}

function presentJob(guid: string, job: Job, cache: ClusterCache, base: string): object {
  const state = stateOf(job, cache);
  const time = formatTimestamp(job.startedAt * 1000);
  const errors = new CFError("UnprocessableEntity", state === "FAILED" ? errorsOf(job, cache) : []).errors;
  const noun = job.operation.split(".")[0] ?? "";
  // Operations on the whole platform are about no resource.
  const exists = noun !== "admin" && (state !== "COMPLETE" || !job.operation.endsWith(".delete"));
  return {
    guid,
    created_at: time,
    updated_at: time,
    operation: job.operation,
    state,
    errors,
    warnings: [],
    links: {
      self: { href: `${base}/v3/jobs/${encodeURIComponent(guid)}` },
      ...(exists && { [noun]: { href: `${base}/v3/${noun}s/${job.guid}` } }),
    },
  };
}

export const jobEndpoints: readonly Endpoint[] = [
  endpoint({
    method: "GET",
    path: "/v3/jobs/:guid",
    permission: "authenticated",
    summary: "Get a job",
    handler: async ({ session, params, base }) => {
      const job = parseJobGUID(params.guid, await getJobKey(session.platformClient));
      if (!job) throw notFound("Job");
      const ref = job.operation === "droplet.upload" ? Droplet : kindOf(job);
      if (ref) await session.holdWhile([ref], () => stateOf(job, session.cache) === "PROCESSING");
      return ok(presentJob(params.guid, job, session.cache, base));
    },
  }),
];
