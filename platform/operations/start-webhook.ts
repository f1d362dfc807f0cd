// Starts the operation `webhook`.
import type { PlatformContext } from "../platform-context.ts";
import { DEFAULT_WEBHOOK_LISTEN, startNameWebhook } from "./name-webhook.ts";

/** @throws Error when its address is taken */
export async function startWebhookOperation({
  client,
  informers,
  readiness,
  options,
  log,
  disposables,
}: PlatformContext): Promise<void> {
  const webhook = await startNameWebhook({ client, informers, log, listen: options.webhook ?? DEFAULT_WEBHOOK_LISTEN });
  disposables.defer(() => webhook.stop());
  readiness.addCheck("webhook", () => webhook.checkReadiness());
}
