// `cup env`, `set-env` and `unset-env`.
import type { Context } from "../context.ts";
import { fields, type Result } from "../output.ts";

export async function showEnv(context: Context, name: string): Promise<Result> {
  const app = await context.app(name);
  const env = await context.api.request<Record<string, Record<string, unknown>>>("GET", `/v3/apps/${app.guid}/env`);
  const variables = Object.entries(env["environment_variables"] ?? {});
  const system = { ...env["system_env_json"], ...env["application_env_json"] };
  return {
    json: env,
    text: [
      ...(variables.length === 0
        ? ["No variables are set. Next: cup set-env APP NAME VALUE"]
        : fields(variables.map(([key, value]) => [key, String(value)] as const))),
      ...Object.entries(system).map(([key, value]) => `${key}: ${JSON.stringify(value, null, 2)}`),
    ],
  };
}

/** null removes a variable. Values are never printed back. */
export async function setEnv(
  context: Context,
  name: string,
  variables: Record<string, string | null>,
): Promise<Result> {
  const app = await context.app(name);
  await context.api.request("PATCH", `/v3/apps/${app.guid}/environment_variables`, { body: { var: variables } });
  const names = Object.keys(variables);
  return {
    json: { app: app.guid, changed: names },
    text: [`${names.join(", ")} changed. It takes effect at the next start: cup restart ${name}`],
  };
}
