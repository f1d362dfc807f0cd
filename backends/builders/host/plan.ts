// The status of a Staging, during its build and after it. Pure.
import { hideUserinfo } from "../../../crds/hide-userinfo.ts";
import type { Staging } from "../../../crds/staging/staging.ts";
import type { ReconcileResult } from "../../../kube/controller/controller.ts";
import { toProcessTypes } from "../../host/droplet-metadata.ts";
import { presentFailure, type StagingFailure } from "../staging-failure.ts";
import type { StagedDroplet } from "./staging-job.ts";

/** Characters, as the CRD has it. */
const MAX_NAME = 255;

type Status = NonNullable<Staging["status"]>;

/** The result of a Staging: exactly one of the two. */
export type Outcome = Pick<Status, "droplet" | "error">;

/** A build that made a droplet. `names` maps buildpack ids to the names in the Staging. */
export interface FinishedBuild {
  staged: StagedDroplet;
  root: string;
  names: readonly { name: string; id: string }[];
}

/** The status fields for a build's result. */
export function toOutcome(staging: Staging, build: FinishedBuild | { failure: StagingFailure }): Outcome {
  if ("failure" in build) return { error: presentFailure(build.failure) };
  const { metadata, digest, size } = build.staged;
  return {
    droplet: {
      kind: "host",
      content: { digest, size },
      root: build.root,
      processTypes: toProcessTypes(metadata),
      ...(staging.spec.stack && { stack: staging.spec.stack }),
      buildpacks: metadata.buildpacks.map(({ id, version }) => ({
        name: toStatusName(build.names.find((one) => one.id === id)?.name ?? id),
        version,
        detectOutput: id.split("/").at(-1) ?? id,
      })),
    },
  };
}

/** Addresses can be longer than the status takes. The password goes first: half of one could not be told from a name. */
function toStatusName(name: string): string {
  return hideUserinfo(name).slice(0, MAX_NAME);
}

/** Log line about the build's failure: the buildpack's own output stands there already. @param hint the end of the message, if it has one */
export function toLogLines({ code, message }: Pick<StagingFailure, "code" | "message">, hint?: string): string[] {
  const own = code === "BuildpackCompileFailed" ? message.replace(/, saying: [^]*$/, "") : message;
  return [...own.split("\n"), ...(own !== message && hint !== undefined ? [hint] : [])];
}

/** The whole status. It changes only between pending, running and ended, so it is written no more often. */
export function planStatus(progress: { startedAt: string | undefined; outcome: Outcome | undefined }): ReconcileResult {
  const { startedAt, outcome } = progress;
  if (outcome?.error) {
    const { code, message } = outcome.error;
    return {
      status: { state: "Failed", startedAt, error: outcome.error },
      ready: { status: "False", reason: code, message },
    };
  }
  if (outcome) return { status: { state: "Succeeded", startedAt, droplet: outcome.droplet } };
  if (startedAt === undefined)
    return {
      status: { state: "Pending" },
      ready: { status: "False", reason: "Waiting", message: "waiting for other builds of this machine or of the app" },
    };
  return {
    status: { state: "Running", startedAt },
    ready: { status: "False", reason: "Building", message: "the build is running" },
  };
}
