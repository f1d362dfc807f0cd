// The commands about operator policy.
import type { Command } from "commander";
import { withoutContext } from "../action.ts";
import { example } from "../help.ts";
import type { Result } from "../output.ts";
import type { KubeClient } from "../../kube/client/client.ts";

/** Runs an action that calls the cluster. */
function withKube<Args extends unknown[]>(action: (kube: KubeClient, ...args: Args) => Promise<Result>) {
  return withoutContext(async (_progress, ...args: Args) => {
    const { withCluster } = await import("../policy/cluster.ts");
    return withCluster((kube) => action(kube, ...args));
  });
}

export function addPolicy(program: Command): void {
  const policy = program.command("policy").description("rules that an operator sets for apps, routes and spaces");
  addReads(policy);
  policy
    .command("delete <name>")
    .description("delete a constraint, or a template with its constraints")
    .addHelpText("after", example("cup policy delete requiredlabels/owner-in-prod", "cup policy delete sizelimit -f"))
    .option("-f, --force", "do not ask")
    .action(
      withKube(async (kube, name: string, options: { force?: boolean }) =>
        (await import("../policy/delete.ts")).deletePolicy(kube, name, options),
      ),
    );
}

function addReads(policy: Command): void {
  policy
    .command("list")
    .description("list templates and constraints: action, where they hold, whether they are enforced, violations")
    .addHelpText("after", example("cup policy list"))
    .action(withKube(async (kube) => (await import("../policy/list.ts")).listPolicies(kube)));
  policy
    .command("show <name>")
    .description("show a template or a constraint: rules, parameters, exceptions and violations")
    .addHelpText("after", example("cup policy show owner-in-prod", "cup policy show requiredlabels/owner-in-prod"))
    .action(withKube(async (kube, name: string) => (await import("../policy/show.ts")).showPolicy(kube, name)));
}
