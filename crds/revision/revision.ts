// The Revision kind: everything that an app's instances are made from, as of one start. Only controllers write it.
import { MAX_DETAILS } from "../details.ts";
import { z } from "zod";
import { listMap, readyStatus, withRules, type Resource } from "../../kube/api/resource.ts";
import { healthCheck, readinessCheck } from "../health-check.ts";
import { mountedClaims } from "../mounted-claim.ts";
import { mountedFiles } from "../mounted-files.ts";
import { adjustmentText, className, cpuQuantity, envVars, memoryMB, ports, refTo } from "../schema-fields.ts";
import { CATEGORY, GROUP } from "../groups.ts";
import { MAX_SIDECARS, sidecar } from "../sidecar.ts";
import { defineKind, READ } from "../kind.ts";
import { SPACE_READERS, SPACE_DEVELOPER } from "../roles.ts";

export const revisionProcess = z.object({
  type: z.string().min(1).max(255),
  command: z.string().max(65536).optional().describe("The command in the Process's spec. Defaults to the droplet's."),
  memoryMB,
  diskMB: memoryMB,
  cpu: cpuQuantity.optional(),
  logRateLimitBytesPerSecond: z.int().min(-1),
  healthCheck,
  readinessHealthCheck: readinessCheck,
  ports,
  user: z.string().max(255).optional(),
  runner: className,
  adjustment: adjustmentText.optional(),
});
export type RevisionProcess = z.output<typeof revisionProcess>;

const spec = withRules(
  z.object({
    appRef: refTo("App"),
    version: z.int().min(1).max(2_147_483_647).describe("Version number, counted per app."),
    description: z.string().max(MAX_DETAILS).describe("Why this revision was made."),
    restart: z.string().max(63).optional().describe("The value of the app's spec.restart when this revision was made."),
    release: z
      .int()
      .min(1)
      .max(2_147_483_647)
      .optional()
      .describe(
        "Version number that cf shows. Revisions with the same droplet, environment and commands share it. None while the app's feature revisions is off.",
      ),
    rollout: z.string().max(253).optional().describe("The Rollout that this revision was made for."),
    dropletRef: refTo("Droplet"),
    env: envVars
      .default([])
      .describe(
        "The user's environment variables. Their values are in an immutable Secret that is named by a keyed digest.",
      ),
    services: envVars
      .optional()
      .describe(
        "VCAP_SERVICES and what follows from it, in an immutable Secret: the bound services as of this start. None where nothing is bound.",
      ),
    serviceFiles: mountedFiles.optional(),
    volumes: mountedClaims.optional(),
    processes: listMap(z.array(revisionProcess).max(100), ["type"]),
    sidecars: listMap(z.array(sidecar).max(2 * MAX_SIDECARS), ["name"]).optional(),
  }),
  [{ rule: "self == oldSelf", message: "a Revision never changes" }],
);

/** A Revision is complete as it is created and never changes, so its Ready is a default of the CRD and costs no write (docs/adr/0020). */
const RECORDED = {
  observedGeneration: 1,
  conditions: [
    {
      type: "Ready",
      status: "True",
      reason: "Recorded",
      message: "",
      // As the Gateway API's defaults have it: a default knows no time.
      lastTransitionTime: "1970-01-01T00:00:00Z",
      observedGeneration: 1,
    },
  ],
};

export const Revision = defineKind({
  group: GROUP,
  kind: "Revision",
  plural: "revisions",
  namespaced: true,
  livesIn: ["space"],
  permissions: [
    { verbs: READ, roles: SPACE_READERS },
    { subresource: "secrets", verbs: ["get"], roles: [SPACE_DEVELOPER] },
    { verbs: ["patch"], roles: [SPACE_DEVELOPER] },
  ],
  shortNames: ["cfrevision"],
  categories: [CATEGORY],
  description:
    "A snapshot of what an app runs: droplet, environment, commands, sizes and checks. The platform writes one at each start, restart and deployment.",
  columns: [
    { name: "App", jsonPath: ".spec.appRef.name" },
    { name: "Version", jsonPath: ".spec.version", type: "integer" },
    { name: "Droplet", jsonPath: ".spec.dropletRef.name" },
    { name: "Description", jsonPath: ".spec.description" },
  ],
  spec,
  status: readyStatus({}).meta({ default: RECORDED }),
});
export type Revision = Resource<typeof Revision>;
