// The commands of `cup local`, `cup doctor` and `cup support-bundle`.
import { DEFAULT_PORTS } from "../../local/ports.ts";
import { type Command, Option } from "commander";
import { withoutContext } from "../action.ts";
import { PROBE_MINUTES } from "../doctor/probe/duration.ts";
import { Failure } from "../failure.ts";
import { example } from "../help.ts";
import type { BundleOptions } from "../support-bundle/bundle.ts";
import type { ClusterDoctorOptions } from "../doctor/doctor-cluster.ts";
import type { DoctorOptions } from "../local/doctor.ts";
import type { StartOptions } from "../local/start.ts";
import { toCount, toDuration, toPort } from "./numbers.ts";

const home = (): Option => new Option("--home <dir>", "where all state is (default: CUPOLA_HOME, else ~/.cupola)");

const otherwise = (port: number): string => `(default: as at the last start, else ${port})`;

/** Cupola on this machine. */
export function addLocal(program: Command): void {
  const local = program.command("local").description("Cupola on this machine");
  local
    .command("start")
    .description("start Cupola here and, the first time, push an example app")
    .addHelpText("after", example("cup local start", "cup local start --detach --port 9000"))
    .addOption(home())
    .option("--port <n>", `port of the CF API and the apps ${otherwise(DEFAULT_PORTS.port)}`, toPort)
    .option("--kube-port <n>", `port of the Kubernetes API ${otherwise(DEFAULT_PORTS.kubePort)}`, toPort)
    .option("--empty", "push no example app")
    .option("--detach", "return when it is ready, and leave it running")
    .action(
      withoutContext(async (progress, options: StartOptions) =>
        (await import("../local/start.ts")).localStart(progress, options),
      ),
    );
  local
    .command("stop")
    .description("stop Cupola and its apps")
    .addHelpText("after", example("cup local stop"))
    .addOption(home())
    .action(
      withoutContext(async (progress, options: { home?: string }) =>
        (await import("../local/stop.ts")).localStop(progress, options),
      ),
    );
  local
    .command("status")
    .description("show whether Cupola runs, and where")
    .addHelpText("after", example("cup local status --json"))
    .addOption(home())
    .action(
      withoutContext(async (_progress, options: { home?: string }) =>
        (await import("../local/status.ts")).localStatus(options),
      ),
    );
}

/** @throws Failure when an option of --cluster is given without it */
function asksForCluster({ cluster, kubeconfig, context, pre, probe, wait }: AnyDoctorOptions): boolean {
  const needsCluster = kubeconfig ?? context ?? pre ?? probe ?? wait;
  if (!cluster && needsCluster !== undefined)
    throw new Failure("--kubeconfig, --context, --pre, --probe and --wait are about a cluster", {
      kind: "usage",
      next: "cup doctor --cluster",
    });
  if (pre && probe)
    throw new Failure("--probe tries an installed platform, and --pre looks before there is one", {
      kind: "usage",
      next: "give one of them",
    });
  return cluster === true;
}

type AnyDoctorOptions = DoctorOptions & ClusterDoctorOptions & { cluster?: boolean };

/** `cup doctor`. */
export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description("say what this machine, or with --cluster a platform on a cluster, lacks, and the next step")
    .addHelpText(
      "after",
      example(
        "cup doctor",
        "cup doctor --cluster",
        "cup doctor --cluster --probe",
        "cup doctor --cluster --pre --context prod",
      ),
    )
    .addOption(home())
    .option("--port <n>", `port of the CF API and the apps ${otherwise(DEFAULT_PORTS.port)}`, toPort)
    .option("--kube-port <n>", `port of the Kubernetes API ${otherwise(DEFAULT_PORTS.kubePort)}`, toPort)
    .option(
      "--cluster",
      "look at a platform that Helm installed, by the kubeconfig alone: exit code 0 fine, 1 a problem, 2 could not look",
    )
    .option("--kubeconfig <file>", "with --cluster: the kubeconfig (default: as kubectl finds it)")
    .option("--context <name>", "with --cluster: the context of the kubeconfig (default: the current one)")
    .option("--pre", "with --cluster: look at a cluster before Cupola is installed")
    .option(
      "--probe",
      `with --cluster: start pods in cupola-system, for ${PROBE_MINUTES} minutes at most, and try the registry and NetworkPolicies; with --wait once, at the end`,
    )
    .option("--wait <seconds>", "with --cluster: look again until there is no problem, for so long", toCount)
    .action(
      withoutContext(async (progress, options: AnyDoctorOptions) =>
        asksForCluster(options)
          ? (await import("../doctor/doctor-cluster.ts")).doctorCluster(progress, options)
          : (await import("../local/doctor.ts")).doctor(options),
      ),
    );
}

/** `cup support-bundle`. */
export function addSupportBundle(program: Command): void {
  program
    .command("support-bundle")
    .description("write what a helper needs to see of a platform on a cluster into one file, without secrets")
    .addHelpText("after", example("cup support-bundle", "cup support-bundle --app shop --since 2h --anonymous"))
    .option("-o, --output <file>", "file to write (default: cupola-support-TIME.tar.gz here)")
    .option("--app <name>", "only objects of apps with this name, besides the platform's own")
    .option("--since <duration>", "logs and events of this time, such as 30m, 2h or 1d (default: 1d)", toDuration)
    .option("--anonymous", "put numbers in place of the names of orgs, spaces, apps, hosts and people")
    .option("--dry-run", "list the files, and write none")
    .option("--kubeconfig <file>", "the kubeconfig (default: as kubectl finds it)")
    .option("--context <name>", "the context of the kubeconfig (default: the current one)")
    .action(
      withoutContext(async (progress, options: BundleOptions) =>
        (await import("../support-bundle/bundle.ts")).supportBundle(progress, options),
      ),
    );
}
