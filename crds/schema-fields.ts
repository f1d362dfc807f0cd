// Schema fields that several kinds share.
import { z } from "zod";
import { cfName } from "./cf-name.ts";
import { listAtomic, listMap, withRules, type CelRule } from "../kube/api/resource.ts";

/** A Kubernetes object name. */
export const objectName = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);

/** For kinds whose object names are joined by a dot elsewhere, as in the label that consents to adoption. */
export const noDotInName = (kind: string): CelRule => ({
  rule: "!self.metadata.name.contains('.')",
  message: `the name of ${kind} has no dot`,
});

/** A reference by name in the same namespace. A dangling reference is a condition, which clears when the object appears. */
export function refTo(kind: string) {
  return z
    .object({ name: objectName.describe(`Name of the ${kind}.`) })
    .describe(`The ${kind}, by name, in this namespace.`);
}

/** The name of a BackendClass. */
export const className = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);

/** The name that cf shows. Defaults to `metadata.name`. */
export const displayName = cfName
  .optional()
  .describe(
    "The name that cf shows. Defaults to metadata.name. Change it to rename the object; metadata.name never changes.",
  );

export const secretKeyRef = z
  .object({
    name: objectName.describe("Name of the Secret."),
    key: z.string().min(1).max(253).describe("Key in the Secret."),
  })
  .describe("One key of a Secret.");

/** Environment variables as in a Pod: a value, or a key of a Secret. */
export const envVars = listMap(
  z
    .array(
      withRules(
        z.object({
          name: z.string().min(1).max(255).describe("Name of the variable."),
          value: z.string().max(131072).optional().describe("The value, in plain text. Use valueFrom for secrets."),
          valueFrom: z
            .object({ secretKeyRef })
            .optional()
            .describe("The source of the value: a key of a Secret in this namespace."),
        }),
        [{ rule: "has(self.value) != has(self.valueFrom)", message: "give either value or valueFrom" }],
      ),
    )
    .max(1000),
  ["name"],
);
export type EnvVar = z.output<typeof envVars>[number];

export const digest = z
  .string()
  .max(71)
  .regex(/^sha256:[0-9a-f]{64}$/)
  .describe("sha256:<hex> of the content.");

/** Content in the platform's blob store, addressed by space and digest. */
export const content = z.object({ digest, size: z.int().min(0).describe("Size in bytes.") });

/** Sources small enough for an object: a map from path to text. The builder checks the paths as it does for an archive. */
export const inlineFiles = z.record(z.string().max(255), z.string().max(65536)).meta({ maxProperties: 50 });

export const port = z.int().min(1).max(65535);
export const ports = listAtomic(z.array(port).max(10));

export const memoryMB = z.int().min(1).max(4_194_304);
export const cpuQuantity = z
  .string()
  .max(16)
  .regex(/^[0-9]+(\.[0-9]+)?m?$/)
  .describe("CPU per instance as a Kubernetes quantity (500m, 2). Defaults to a share that follows memory.");

/** As long as the patches of a process that act (adjustment/of-process.ts). */
export const adjustmentText = z
  .string()
  .max(65536)
  .describe(
    "Patch on the pod template as JSON, from the Adjustments of the process: its metadata and spec, merged as docs/workload-contract.md says.",
  );

/** Process types of a droplet and their start commands. */
export const processTypes = z.record(z.string().max(255), z.string().max(65536)).meta({ maxProperties: 100 });

/** GUID and name of an app, space or org in a contract object, so that a backend reads no other object. */
export const identity = z.object({ guid: z.string().max(63), name: z.string().max(255) });

export const lifecycleType = z.enum(["buildpack", "cnb", "docker"]);
