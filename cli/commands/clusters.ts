// The commands about other clusters, and about the segments that use them.
import type { Command } from "commander";
import { withContext, withoutContext } from "../action.ts";
import type { AddOptions } from "../cluster/add.ts";
import type { AllowOptions } from "../cluster/allow-deletes.ts";
import type { DetachOptions } from "../cluster/detach.ts";
import type { FailoverOptions, LeaveOptions } from "../cluster/drain.ts";
import type { PlaceOptions } from "../cluster/segments.ts";
import { Failure } from "../failure.ts";
import { example } from "../help.ts";
import type { Progress, Result } from "../output.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { toCount } from "./numbers.ts";

type AddFlags = AddOptions & { here?: boolean; pull?: boolean };

/** Runs an action that calls the cluster. */
function withKube<Args extends unknown[]>(
  action: (kube: KubeClient, progress: Progress, ...args: Args) => Promise<Result>,
) {
  return withoutContext(async (progress, ...args: Args) => {
    const { withCluster } = await import("../policy/cluster.ts");
    return withCluster((kube) => action(kube, progress, ...args));
  });
}

export function addClusters(program: Command): void {
  const clusters = program
    .command("clusters")
    .description("other clusters on which apps run")
    .addHelpText("after", example("cup clusters", "cup clusters add west --here"))
    .action(withKube(async (kube) => (await import("../cluster/clusters.ts")).listClusters(kube)));
  addJoining(clusters);
  addVerbs(clusters);
  addLeaving(clusters);
  addRemoval(clusters);
  addDeletes(clusters);
}

function addJoining(clusters: Command): void {
  clusters
    .command("add <name>")
    .description("add a cluster: one with the chart in mode spoke, or one on this machine")
    .addHelpText(
      "after",
      example(
        "cup clusters add west --here",
        "cup clusters add east --context east --labels region=eu,tier=prod",
        "cup clusters add shop --pull --server https://hub.example.org:6443",
      ),
    )
    .option("--here", "start it on this machine, beside the laptop's own")
    .option("--pull", "the platform cannot call it: its agent calls the platform")
    .option("--context <context>", "its context in the kubeconfig, of a user who may read its Secrets in cupola-system")
    .option("--kubeconfig <file>", "the kubeconfig; default: $KUBECONFIG, or ~/.kube/config")
    .option(
      "--server <url>",
      "its API server as the platform reaches it, or with --pull the platform's as its agent does",
    )
    .option("--labels <labels>", "labels by which segments choose it, as region=eu,tier=prod")
    .action(
      withKube(async (kube, progress, name: string, { here, pull = false, ...options }: AddFlags) => {
        if (here) return (await import("../cluster/clusters.ts")).addHere(kube, name, { pull, progress });
        if (pull) return (await import("../cluster/add-pull.ts")).addPullCluster(kube, name, { ...options, progress });
        if (options.context === undefined && options.kubeconfig === undefined)
          throw new Failure("name the cluster's context, or start one on this machine", {
            kind: "usage",
            next: `cup clusters add ${name} --context CONTEXT, or cup clusters add ${name} --here`,
          });
        return (await import("../cluster/add.ts")).addCluster(kube, name, { ...options, progress });
      }),
    );
}

function addVerbs(clusters: Command): void {
  clusters
    .command("stop <name>")
    .description("stop a cluster of this machine, as if it were lost")
    .addHelpText("after", example("cup clusters stop west"))
    .action(
      withKube(async (kube, _progress, name: string) => (await import("../cluster/clusters.ts")).stopHere(kube, name)),
    );
  clusters
    .command("start <name>")
    .description("start a cluster of this machine again")
    .addHelpText("after", example("cup clusters start west"))
    .action(
      withKube(async (kube, progress, name: string) =>
        (await import("../cluster/clusters.ts")).startHere(kube, name, progress),
      ),
    );
  for (const verb of ["cordon", "uncordon"] as const)
    clusters
      .command(`${verb} <name>`)
      .description(verb === "cordon" ? "place nothing new on a cluster" : "place new processes on a cluster again")
      .addHelpText("after", example(`cup clusters ${verb} west`))
      .action(
        withKube(async (kube, _progress, name: string) =>
          (await import("../cluster/clusters.ts")).cordon(kube, name, verb === "cordon"),
        ),
      );
}

function addLeaving(clusters: Command): void {
  clusters
    .command("drain <name>")
    .description("move all instances of a cluster to others, new first")
    .addHelpText("after", example("cup clusters drain west"))
    .option("--no-wait", "end at once; it goes on")
    .action(
      withKube(async (kube, progress, name: string, options: LeaveOptions) =>
        (await import("../cluster/drain.ts")).drain(kube, name, { ...options, progress }),
      ),
    );
  clusters
    .command("failover <name>")
    .description("start the instances of a cluster that does not answer on others")
    .addHelpText("after", example("cup clusters failover west", "cup clusters failover west -f"))
    .option("--no-wait", "end at once; it goes on")
    .option("-f, --force", "although the platform does not know that the cluster is lost")
    .action(
      withKube(async (kube, progress, name: string, options: FailoverOptions) =>
        (await import("../cluster/drain.ts")).failover(kube, name, { ...options, progress }),
      ),
    );
}

function addRemoval(clusters: Command): void {
  clusters
    .command("remove <name>")
    .description("remove a cluster on which nothing runs")
    .addHelpText("after", example("cup clusters remove west"))
    .action(
      withKube(async (kube, progress, name: string) =>
        (await import("../cluster/drain.ts")).remove(kube, name, progress),
      ),
    );
  clusters
    .command("forget <name>")
    .description("remove a cluster that never comes back: its instances start on others")
    .addHelpText("after", example("cup clusters forget west -f"))
    .option("-f, --force", "do not ask")
    .action(
      withKube(async (kube, _progress, name: string, options: { force?: boolean }) =>
        (await import("../cluster/drain.ts")).forget(kube, name, options),
      ),
    );
  clusters
    .command("detach <name>")
    .description("let a cluster go with the apps that run there")
    .addHelpText("after", example("cup clusters detach west --context west"))
    .option("--context <context>", "its context in the kubeconfig, of an administrator there")
    .option("--kubeconfig <file>", "the kubeconfig; default: $KUBECONFIG, or ~/.kube/config")
    .option("-f, --force", "do not ask")
    .action(
      withKube(async (kube, progress, name: string, options: DetachOptions) => {
        if (options.context === undefined && options.kubeconfig === undefined)
          throw new Failure("name the cluster's context", {
            kind: "usage",
            next: `cup clusters detach ${name} --context CONTEXT`,
          });
        return (await import("../cluster/detach.ts")).detachCluster(kube, name, { ...options, progress });
      }),
    );
}

function addDeletes(clusters: Command): void {
  clusters
    .command("allow-deletes <name>")
    .description("delete the objects there whose owners the platform does not have")
    .addHelpText("after", example("cup clusters allow-deletes west", "cup clusters allow-deletes west -f"))
    .option("-f, --force", "do not ask")
    .action(
      withKube(async (kube, _progress, name: string, options: AllowOptions) =>
        (await import("../cluster/allow-deletes.ts")).allowDeletes(kube, name, { ...options, now: new Date() }),
      ),
    );
}

export function addPlacement(program: Command): void {
  const placement = program.command("placement").description("on which clusters apps run, and why");
  placement
    .command("explain <app>")
    .description("say why each cluster has instances of an app, or has none")
    .addHelpText("after", example("cup placement explain shop", "cup placement explain shop --process worker"))
    .option("--process <type>", "type of the process; default: web")
    .action(
      withContext(async (context, name: string, options: { process?: string }) => {
        const [{ withCluster }, { explainPlacement }] = await Promise.all([
          import("../policy/cluster.ts"),
          import("../cluster/explain.ts"),
        ]);
        return withCluster((kube) => explainPlacement(kube, context, name, options));
      }),
    );
}

export function addSegments(program: Command): void {
  const segments = program
    .command("segments")
    .description("isolation segments, and the clusters of their apps")
    .addHelpText("after", example("cup segments", "cup segments place shared --clusters all"))
    .action(withKube(async (kube) => (await import("../cluster/segments.ts")).listSegments(kube)));
  addPlace(segments);
}

function addPlace(segments: Command): void {
  const place = segments
    .command("place <segment>")
    .description("choose the clusters on which new processes of a segment run")
    .addHelpText(
      "after",
      example(
        "cup segments place shared --clusters all",
        "cup segments place gpu --clusters tier=gpu --count 2",
        "cup segments place shared --clusters all --failover auto --failover-after 300",
        "cup segments place shared --clusters all --stages 1,50%,100% --soak 60",
        "cup segments place shared --clusters none",
      ),
    )
    .requiredOption("--clusters <labels>", "all, labels as tier=prod,region=eu, or none: the platform's own cluster")
    .option("--count <number>", "clusters of each process; all that match without it", toCount)
    .option("--failover <mode>", "what becomes of instances on a cluster that does not answer: never, manual, auto")
    .option("--failover-after <seconds>", "for auto: seconds without an answer, 10 at least; default: 300", toCount)
    .option("--spread-by <label>", "one cluster for each value of the label, while values last");
  addStages(place);
  place.action(
    withKube(async (kube, _progress, name: string, options: PlaceOptions) =>
      (await import("../cluster/segments.ts")).placeSegment(kube, name, options),
    ),
  );
}

function addStages(place: Command): void {
  place
    .option(
      "--stages <counts>",
      "clusters that a rolling deployment has reached after each stage, as 1,50%,100%; none: all at once",
    )
    .option("--soak <seconds>", "how long a stage runs well before the next one begins", toCount)
    .option(
      "--deadline <seconds>",
      "after this time a stage has failed, or a lost cluster is skipped; default: 600",
      toCount,
    )
    .option("--max-failures <number>", "instances of a stage that may crash; default: 0", toCount)
    .option("--approval <when>", "none, or stage: pauses after each stage until cf continue-deployment");
}
