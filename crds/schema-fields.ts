// Schema parts that several kinds share.
import { z } from "zod";
import { cfName } from "./cf-name.ts";
import { listAtomic, listMap, withRules, type CelRule } from "../kube/api/resource.ts";

/** An object name as Kubernetes takes it. */
export const objectName = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);

/** For kinds whose object names are put together with a dot between them, as in a consent to adoption. */
export const noDotInName = (kind: string): CelRule => ({
  rule: "!self.metadata.name.contains('.')",
  message: `the name of ${kind} has no dot`,
});

/** A reference by name inside the same namespace. It may dangle: that is a condition, and heals when the name appears. */
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

/** The name shown by `cf`; `metadata.name` when left out. */
export const displayName = cfName
  .optional()
  .describe("The name that cf shows. Defaults to metadata.name. Changing it renames; metadata.name never changes.");

export const secretKeyRef = z
  .object({
    name: objectName.describe("Name of the Secret."),
    key: z.string().min(1).max(253).describe("Key within the Secret."),
  })
  .describe("One key of a Secret.");

/** Environment as in a Pod: a value, or a key of a Secret. */
export const envVars = listMap(
  z
    .array(
      withRules(
        z.object({
          name: z.string().min(1).max(255).describe("Name of the variable."),
          value: z.string().max(131072).optional().describe("The value, in clear. For a secret use valueFrom."),
          valueFrom: z
            .object({ secretKeyRef })
            .optional()
            .describe("Where the value is kept: a key of a Secret in this namespace."),
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

/** Content in the platform's blob store, found by (space, digest). */
export const content = z.object({ digest, size: z.int().min(0).describe("Bytes.") });

/** Source small enough to stand in an object: path to text. The builder checks the paths as it does those of an archive. */
export const inlineFiles = z.record(z.string().max(255), z.string().max(65536)).meta({ maxProperties: 50 });

export const healthCheck = z.object({
  type: z
    .enum(["port", "http", "process"])
    .describe("port: accepts a connection. http: answers 200. process: is alive."),
  endpoint: z.string().max(2048).optional().describe("Path for http; / when left out."),
  timeoutSeconds: z
    .int()
    .min(1)
    .max(3600)
    .optional()
    .describe("How long a start may take until the first success; 60 when left out."),
  invocationTimeoutSeconds: z
    .int()
    .min(1)
    .max(3600)
    .optional()
    .describe("How long one check may take; 1 when left out."),
  intervalSeconds: z
    .int()
    .min(1)
    .max(3600)
    .optional()
    .describe("Between two checks of a running instance; 30 when left out."),
});
export type HealthCheck = z.output<typeof healthCheck>;

export const readinessCheck = healthCheck.omit({ timeoutSeconds: true });
export type ReadinessCheck = z.output<typeof readinessCheck>;

export const port = z.int().min(1).max(65535);
export const ports = listAtomic(z.array(port).max(10));

export const memoryMB = z.int().min(1).max(4_194_304);
export const cpuQuantity = z
  .string()
  .max(16)
  .regex(/^[0-9]+(\.[0-9]+)?m?$/)
  .describe("CPU per instance as Kubernetes writes it (500m, 2). Follows memory when left out.");

/** Process types of a droplet and the command each starts with. */
export const processTypes = z.record(z.string().max(255), z.string().max(65536)).meta({ maxProperties: 100 });

/** What an object of the contracts says about whom it works for: GUIDs and names, so that a backend needs no other object. */
export const identity = z.object({ guid: z.string().max(63), name: z.string().max(255) });

export const lifecycleType = z.enum(["buildpack", "cnb", "docker"]);
