// Sidecars of an instance: they start in its session, before its own program, so that they are measured, adopted and ended with it.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toOutputSource, type ExitProblem } from "../../../crds/lrp/instance-problem.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { sidecarOutputType, type ProcessSidecar } from "../../../crds/sidecar.ts";
import type { LaunchSpec } from "../../host/prepare-launch.ts";
import { singleQuote } from "../../host/single-quote.ts";
import { followOutput } from "./follow-output.ts";
import type { InstanceFiles } from "./instance-record.ts";
import type { InstanceLog } from "./runner-context.ts";

/** How often the platform looks whether a sidecar has ended. */
const POLL_MS = 300;

interface SidecarFiles {
  stdout: string;
  stderr: string;
  /** Holds the exit status once the sidecar has ended by itself. */
  exit: string;
}

function sidecarFiles({ dir }: Pick<InstanceFiles, "dir">, at: number): SidecarFiles {
  const base = join(dir, `sidecar-${at}`);
  return { stdout: `${base}.stdout.log`, stderr: `${base}.stderr.log`, exit: `${base}.exit` };
}

/** The command that starts the sidecars and then becomes the instance's own program. `prepare` gives a sidecar's launch. */
export async function joinSidecars(
  { sidecars = [], memoryMB }: Pick<LRP["spec"], "sidecars" | "memoryMB">,
  files: InstanceFiles,
  { main, prepare }: { main: LaunchSpec; prepare: (sidecar: ProcessSidecar) => Promise<LaunchSpec> },
): Promise<string[]> {
  if (sidecars.length === 0) return main.command;
  const lines = await Promise.all(
    sidecars.map(async (sidecar, at) => {
      const own = sidecarFiles(files, at);
      await Promise.all([own.stdout, own.stderr].map((path) => writeFile(path, "", { mode: 0o600 })));
      return toStartLine(own, sidecar.memoryMB ?? memoryMB, await prepare(sidecar));
    }),
  );
  return ["/bin/sh", "-c", [...lines, `exec ${quote(main.command)}`].join("\n")];
}

function toStartLine(files: SidecarFiles, memoryMB: number, { command, env, cwd }: LaunchSpec): string {
  const own = Object.entries(toSidecarEnv(env, memoryMB)).map(([name, value]) => `${name}=${singleQuote(value)}`);
  const run = `cd ${singleQuote(cwd)} && ${own.join(" ")} ${quote(command)}`;
  const output = `>>${singleQuote(files.stdout)} 2>>${singleQuote(files.stderr)} </dev/null`;
  return `( ( ${run} ) ${output}; echo "$?" > ${singleQuote(files.exit)} ) &`;
}

function quote(words: readonly string[]): string {
  return words.map(singleQuote).join(" ");
}

/** The variables in which a sidecar differs from its process: its own share of the memory. */
export function toSidecarEnv(
  env: Readonly<Record<string, string | undefined>>,
  memoryMB: number,
): Record<string, string> {
  const application = env["VCAP_APPLICATION"];
  return {
    MEMORY_LIMIT: `${memoryMB}m`,
    ...(application !== undefined && { VCAP_APPLICATION: withMemory(application, memoryMB) }),
  };
}

function withMemory(application: string, memoryMB: number): string {
  try {
    const value = JSON.parse(application) as { limits?: object };
    return JSON.stringify({ ...value, limits: { ...value.limits, mem: memoryMB } });
  } catch (_error) {
    return application; // not the platform's JSON; the instance itself gets it unchanged, too
  }
}

/** Logs what the sidecars write. The returned function reads the rest and stops. */
export function followSidecars(
  { lrp: { spec }, files, log }: { lrp: LRP; files: InstanceFiles; log: InstanceLog },
  onLogged: (bytes: number) => void,
): () => void {
  const close = (spec.sidecars ?? []).map((sidecar, at) =>
    followOutput(
      {
        source: toOutputSource(sidecarOutputType(spec.processType, sidecar.name)),
        bytesPerSecond: spec.logRateLimitBytesPerSecond,
        onLogged,
      },
      sidecarFiles(files, at),
      log,
    ),
  );
  return () => close.forEach((one) => one());
}

/** `ended` resolves when a sidecar has ended by itself, which ends the instance; never without sidecars. */
export function watchSidecars(
  { spec }: LRP,
  files: InstanceFiles,
): { ended: Promise<{ exceeded: ExitProblem }>; stop: () => void } {
  const { sidecars = [] } = spec;
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<{ exceeded: ExitProblem }>((resolve) => {
    if (sidecars.length === 0) return;
    const look = async (): Promise<void> => {
      for (const [at, sidecar] of sidecars.entries()) {
        const status = await readFile(sidecarFiles(files, at).exit, "utf8").catch(() => "");
        if (status.trim() === "") continue;
        clearInterval(timer);
        resolve({
          exceeded: {
            kind: "exited",
            processType: sidecarOutputType(spec.processType, sidecar.name),
            status: Number(status),
          },
        });
        return;
      }
    };
    timer = setInterval(() => void look(), POLL_MS).unref();
  });
  return { ended, stop: () => clearInterval(timer) };
}
