// The commands about operator policy.
import { Option, type Command } from "commander";
import { withContext, withoutContext } from "../action.ts";
import { example } from "../help.ts";
import type { Result } from "../output.ts";
import type { ExplainOptions } from "../policy/explain.ts";
import type { TestOptions } from "../policy/test.ts";
import type { KubeClient } from "../../kube/client/client.ts";

const collect = (value: string, before: string[] = []): string[] => [...before, value];

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
  addExplain(policy);
  addTest(policy);
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

function addExplain(policy: Command): void {
  policy
    .command("explain <object>")
    .description("say of each constraint whether it refuses an object: a file, or kind/name in the targeted space")
    .addHelpText("after", example("cup policy explain app/shop", "cup policy explain manifest.yml"))
    .option("--as <user>", "user who would write, for rules about users")
    .option("--as-group <group>", "group of the user; may be given several times", collect)
    .action(
      withContext(async (context, what: string, options: ExplainOptions) => {
        const [{ withCluster }, { explainPolicies }] = await Promise.all([
          import("../policy/cluster.ts"),
          import("../policy/explain.ts"),
        ]);
        return withCluster((kube) => explainPolicies(kube, context, { what, options }));
      }),
    );
}

function addTest(policy: Command): void {
  const test = policy
    .command("test")
    .description("judge a manifest or YAML at rest: exit code 0 allowed, 1 refused, 2 undecided or invalid")
    .addHelpText(
      "after",
      example(
        "cup policy test -f manifest.yml",
        "cup policy test -f manifest.yml --policies policies/ --org acme --space prod --domain apps.example",
        "helm template . | cup policy test -f - --policies policies/ --org acme --space prod --fail-on warn -o json",
      ),
    )
    .requiredOption(
      "-f, --file <path>",
      "manifest.yml, YAML of objects, a folder, or - for stdin; may be given several times",
      collect,
    );
  addFactOptions(test)
    .addOption(new Option("--fail-on <action>", "exit code 1 from this action on").choices(["deny", "warn"]))
    .addOption(new Option("-o, --output <format>", "the same as --json").choices(["json"]))
    .action(
      withoutContext(async (progress, options: TestOptions) =>
        (await import("../policy/test.ts")).testPolicies(progress, options),
      ),
    );
  test.on("option:output", () => test.setOptionValue("json", true));
}

/** Facts that the files under test do not have. */
function addFactOptions(test: Command): Command {
  return test
    .option("--policies <dir>", "folder of templates and constraints, without a server (default: those of the cluster)")
    .option(
      "--refs <path>",
      "with --policies: YAML of the objects that rules read beside those under test; may be given several times",
      collect,
    )
    .option("--org <name>", "org of the objects (default: the targeted one, with the cluster's policies)")
    .option("--space <name>", "space of the objects")
    .option("--org-label <key=value>", "label of the org; may be given several times", collect)
    .option("--space-label <key=value>", "label of the space; may be given several times", collect)
    .option("--domain <name>", "domain of routes, the first for default routes; may be given several times", collect)
    .option("--as <user>", "user who would write, for rules about users")
    .option("--as-group <group>", "group of the user; may be given several times", collect)
    .option("--var <name=value>", "value of a ((variable)); may be given several times", collect)
    .option("--vars-file <file>", "YAML file of variables; may be given several times", collect);
}
