// `cup start`, `stop` and `restart`.
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import type { Result } from "../output.ts";
import { withQuotaAdvice } from "../quota/with-quota-advice.ts";
import { quoteForShell } from "../shell-words.ts";
import { readUrls } from "./process-state.ts";
import { waitUntilRunning } from "./wait-running.ts";

const DONE = { start: "runs", stop: "is stopped", restart: "runs again" } as const;

export async function runVerb(context: Context, verb: keyof typeof DONE, name: string): Promise<Result> {
  const app = await context.app(name);
  context.progress.step(`${verb} ${name}`);
  const word = quoteForShell(name);
  const asked = { app: name, command: `cup scale ${word}`, after: ` && cup ${verb} ${word}` };
  const after = await withQuotaAdvice(context, asked, () =>
    context.api.request<Resource>("POST", `/v3/apps/${app.guid}/actions/${verb}`),
  );
  if (verb !== "stop") await waitUntilRunning(context, app);
  const urls = await readUrls(context, app);
  return {
    json: { ...after, urls },
    text: [`${name} ${DONE[verb]}${verb !== "stop" && urls[0] ? `: ${urls[0]}` : "."}`],
  };
}
