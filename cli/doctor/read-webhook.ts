// Whether the webhook answers: a dry run of a Domain whose name is taken, which the webhook alone refuses so.
import { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { caBundleIn } from "../../kube/admission/webhook-configuration.ts";
import { Secret, ValidatingWebhookConfiguration } from "../../kube/api/builtin.ts";
import { isInvalid } from "../../kube/client/errors.ts";
import { NAME_WEBHOOK, WEBHOOK_CONFIGURATION, WEBHOOK_SECRET } from "../../platform/webhook-options.ts";
import { CouldNotLook } from "./finding.ts";
import type { Facts } from "./facts.ts";
import type { FactReader } from "./fact-reader.ts";

const ANSWER_MS = 3_000;
/** Beginning of the webhook's refusal, as kube-apiserver passes it on. */
const REFUSAL = `admission webhook "${NAME_WEBHOOK}" denied the request`;

export async function readWebhook(reader: FactReader): Promise<Facts["webhook"]> {
  const { kube, call } = reader;
  const configuration = await kube.find(ValidatingWebhookConfiguration, { name: WEBHOOK_CONFIGURATION }, call);
  if (!configuration) return undefined;
  const secret = await kube.find(Secret, { namespace: SYSTEM_NAMESPACE, name: WEBHOOK_SECRET }, call);
  const authority = Buffer.from(secret?.data?.["ca.crt"] ?? "", "base64")
    .toString("utf8")
    .trim();
  const isTrusted = authority !== "" && caBundleIn(configuration, NAME_WEBHOOK).includes(authority);
  return { isTrusted, isAnswering: !isTrusted || (await isAnswering(reader)) };
}

async function isAnswering({ kube, call, list }: FactReader): Promise<boolean> {
  const [taken] = await list(Domain, { namespace: SYSTEM_NAMESPACE });
  if (!taken) throw new CouldNotLook("there is no domain whose name the webhook could refuse");
  try {
    await kube.create(
      Domain,
      { metadata: { namespace: SYSTEM_NAMESPACE, name: "cupola-doctor" }, spec: { name: taken.spec.name } },
      { ...call, dryRun: true, deadlineMs: ANSWER_MS },
    );
    return false;
  } catch (error) {
    if (isInvalid(error) && error.message.includes(REFUSAL)) return true;
    throw error;
  }
}
