// `cup restage`: builds the app's newest package again.
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Result } from "../output.ts";
import { stage } from "../push/stage.ts";
import { runVerb } from "./verbs.ts";

export async function restage(context: Context, name: string): Promise<Result> {
  const app = await context.app(name);
  const [newest] = await context.api.list("/v3/packages", {
    app_guids: app.guid,
    states: "READY",
    order_by: "-created_at",
  });
  if (!newest) throw new Failure(`${name} has no package to build`, { next: `cup push ${name}` });
  context.progress.step(`Building ${name} again`);
  await stage(context, app, { packageGuid: newest.guid });
  return runVerb(context, "restart", name);
}
