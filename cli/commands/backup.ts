// The commands `cup export` and `cup import`.
import type { Command } from "commander";
import { withoutContext } from "../action.ts";
import type { ExportOptions } from "../backup/export.ts";
import type { ImportOptions } from "../backup/import.ts";
import { example } from "../help.ts";

const KUBECONFIG = ["--kubeconfig <file>", "the kubeconfig (default: as kubectl finds it)"] as const;
const CONTEXT = ["--context <name>", "the context of the kubeconfig (default: the current one)"] as const;

export function addBackup(program: Command): void {
  program
    .command("export")
    .description("write the objects of a platform, or of one org, into one file, with their GUIDs, for another cluster")
    .addHelpText("after", example("cup export --key backup.pub", "cup export --org shop --no-secrets -o shop.jsonl.gz"))
    .option("-o, --output <file>", "file to write (default: cupola-export-TIME.jsonl.gz here)")
    .option("--org <name>", "only this org")
    .option("--key <file>", "public key (PEM: X25519, EC or RSA) that Secrets are encrypted to")
    .option("--no-secrets", "leave Secrets out")
    .option("--history", "audit events, too")
    .option(...KUBECONFIG)
    .option(...CONTEXT)
    .action(
      withoutContext(async (progress, options: ExportOptions) =>
        (await import("../backup/export.ts")).exportPlatform(progress, options),
      ),
    );
  program
    .command("import <file>")
    .description("make the objects of an export on this cluster; the same again goes on where it ended")
    .addHelpText(
      "after",
      example("cup import shop.jsonl.gz --key backup.key", "cup import shop.jsonl.gz --no-secrets --dry-run"),
    )
    .option("--key <file>", "private key (PEM) that the export's Secrets are decrypted with")
    .option("--no-secrets", "leave Secrets out")
    .option("--dry-run", "check the file, and write nothing")
    .option(...KUBECONFIG)
    .option(...CONTEXT)
    .action(
      withoutContext(async (progress, file: string, options: ImportOptions) =>
        (await import("../backup/import.ts")).importPlatform(progress, file, options),
      ),
    );
}
