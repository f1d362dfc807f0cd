// Reads the command line that the chart gave a Deployment. Pure.
import type { Deployment } from "../../kube/api/builtin.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";

export function argumentsOf({ spec }: ObjectOf<typeof Deployment>): readonly string[] {
  return spec?.template.spec?.containers[0]?.args ?? [];
}

/** The value of `--name=`. */
function argumentOf(deployment: ObjectOf<typeof Deployment>, name: string): string | undefined {
  return argumentsOf(deployment)
    .find((arg) => arg.startsWith(`--${name}=`))
    ?.slice(name.length + 3);
}

/** Names of operations, as --operation takes them. */
export function operationsOf(deployment: ObjectOf<typeof Deployment>): string[] {
  return argumentOf(deployment, "operation")?.split(",") ?? [];
}

/** The address of the CF API as clients see it. */
export function publicUrlOf(deployments: readonly ObjectOf<typeof Deployment>[]): URL | undefined {
  const text = deployments.map((one) => argumentOf(one, "public-url")).find((url) => url !== undefined);
  return text !== undefined && URL.canParse(text) ? new URL(text) : undefined;
}
