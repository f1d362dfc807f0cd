// Fields of what a service broker makes: references to its catalog, and how far its operations are.
import { z } from "zod";
import { listAtomic } from "../../kube/api/resource.ts";
import { objectName } from "../schema-fields.ts";

/** The namespace of a space. */
export const namespaceName = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);

/** A reference by name, in this namespace unless it names another. */
export function refAnywhere(kind: string) {
  return z.object({
    name: objectName.describe(`Name of the ${kind}.`),
    namespace: namespaceName.optional().describe(`Namespace of the ${kind}. Defaults to this one.`),
  });
}

const time = z.string().max(64).meta({ format: "date-time" });
/** Characters of a description; brokers may say more. */
export const MAX_OPERATION_DESCRIPTION = 10_000;

export const lastOperation = z
  .object({
    type: z.enum(["create", "update", "delete"]).describe("What was asked of the broker."),
    state: z
      .enum(["initial", "in progress", "succeeded", "failed"])
      .describe("initial: the broker has not answered. in progress: it has said that it goes on by itself."),
    description: z
      .string()
      .max(MAX_OPERATION_DESCRIPTION)
      .default("")
      .describe("In the broker's words, or why it failed."),
    generation: z.int().optional().describe("metadata.generation that it is to bring about."),
    createdAt: time.describe("When it began."),
    updatedAt: time.describe("When its state was last learnt."),
  })
  .describe("The latest operation of the broker.");
export type LastOperation = z.output<typeof lastOperation>;

/** As last sent to the broker: what has left its catalog can still be deleted there. */
export const providedBy = z
  .object({
    brokerRef: refAnywhere("ServiceBroker"),
    offeringID: z.string().max(255).describe("The broker's id of the offering."),
    planID: z.string().max(255).describe("The broker's id of the plan."),
    planObject: z.string().max(253).optional().describe("Object name of the plan."),
    offeringName: z.string().max(255).optional().describe("Name of the offering, which VCAP_SERVICES shows."),
    offeringTags: listAtomic(z.array(z.string().max(2048)).max(100))
      .optional()
      .describe("Tags of the offering, which VCAP_SERVICES shows."),
    planName: z.string().max(255).optional().describe("Name of the plan."),
    name: z.string().max(255).optional().describe("Name of the instance that the broker was told."),
    parametersSecret: z.string().max(253).optional().describe("The Secret whose parameters were sent last."),
    maintenanceVersion: z.string().max(255).optional().describe("Version that the instance runs."),
  })
  .describe("What the broker was last asked for.");
export type ProvidedBy = z.output<typeof providedBy>;

export const pendingOperation = z
  .object({
    id: z.string().max(10_000).optional().describe("The broker's own name for it."),
    attempts: z.int().min(0).optional().describe("Attempts one after the other that the broker has not taken."),
    isOrphan: z.boolean().optional().describe("Whether what the broker may have made is being taken back."),
    at: time.optional().describe("When the broker took it, or what it may have made was last tried to be taken back."),
    isAccepted: z.boolean().optional().describe("Whether the broker takes it back by itself."),
    wish: z.string().max(1024).optional().describe("The wish to delete it that was heard last."),
    target: providedBy.optional().describe("What an update is to bring."),
  })
  .describe("How an operation under way goes on.");
export type PendingOperation = z.output<typeof pendingOperation>;

/** Is the broker at it, as far as is known? Not while it has refused for now, and is asked again later. */
export function isAtBroker({
  lastOperation,
  operation,
}: {
  lastOperation?: LastOperation | undefined;
  operation?: PendingOperation | undefined;
}): boolean {
  if (lastOperation?.state === "in progress") return true;
  return lastOperation?.state === "initial" && (operation?.attempts ?? 0) === 0;
}
