// The program of the pods that `cup doctor --cluster --probe` starts: it tries what such a pod can do, and writes the outcome as the pod's last message.
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import { parsePort } from "../parse-address.ts";
import { addRegistryOptions, toRegistrySettings, type RegistryOptions } from "../registry-options.ts";
import { listen, tryPorts } from "./try-network.ts";
import { tryRegistry } from "./try-registry.ts";

const LAST_MESSAGE = "/dev/termination-log";

type Result = { result: string };

const program = new Command("probe");
addRegistryOptions(program.command("registry"))
  .requiredOption("--id <id>", "the probe")
  .option("--builder-image <image>", "read this builder image, too")
  .option("--result <file>", "where the outcome goes", LAST_MESSAGE)
  .action(async (options: RegistryOptions & Result & { id: string; builderImage?: string }) => {
    const settings = toRegistrySettings(options);
    if (!settings) throw new Error("--registry is missing");
    await write(options, await tryRegistry({ settings, builderImage: options.builderImage, id: options.id }));
  });
program
  .command("listen")
  .requiredOption("--ports <ports>", "where to listen")
  .option("--host <address>", "where to listen", "0.0.0.0")
  .action(({ host, ports }: { host: string; ports: string }) => listen(host, ports.split(",").map(parsePort)));
program
  .command("reach")
  .requiredOption("--host <address>", "the pod that listens")
  .requiredOption("--open <port>", "the port that the policy opens", parsePort)
  .requiredOption("--closed <port>", "the port that it closes", parsePort)
  .option("--result <file>", "where the outcome goes", LAST_MESSAGE)
  .action(async ({ host, ...options }: Result & { host: string; open: number; closed: number }) => {
    await write(options, await tryPorts(host, options));
  });
await program.parseAsync();

async function write({ result }: Result, outcome: object): Promise<void> {
  await writeFile(result, JSON.stringify(outcome));
}
