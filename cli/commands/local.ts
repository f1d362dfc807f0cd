// The commands of `cup local`, and `cup doctor`.
import { DEFAULT_PORTS } from "../../local/ports.ts";
import { type Command, Option } from "commander";
import { withoutContext } from "../action.ts";
import { example } from "../help.ts";
import type { DoctorOptions } from "../local/doctor.ts";
import type { StartOptions } from "../local/start.ts";
import { toPort } from "./numbers.ts";

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

/** `cup doctor`. */
export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description("say what this machine lacks: ports, disk, toolchains, proxies")
    .addHelpText("after", example("cup doctor"))
    .addOption(home())
    .option("--port <n>", `port of the CF API and the apps ${otherwise(DEFAULT_PORTS.port)}`, toPort)
    .option("--kube-port <n>", `port of the Kubernetes API ${otherwise(DEFAULT_PORTS.kubePort)}`, toPort)
    .action(
      withoutContext(async (_progress, options: DoctorOptions) => (await import("../local/doctor.ts")).doctor(options)),
    );
}
