// The commands that a shell needs: completion of command lines.
import { Argument, type Command } from "commander";
import { withoutContext } from "../action.ts";
import { example } from "../help.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** `cup completion`, and the hidden command that its scripts call. */
export function addShell(program: Command): void {
  program
    .command("completion")
    .description("print the completion script of a shell")
    .addArgument(new Argument("<shell>").choices(SHELLS))
    .addHelpText(
      "after",
      example(
        "echo 'source <(cup completion bash)' >> ~/.bashrc",
        'cup completion zsh > "${fpath[1]}/_cup"',
        "cup completion fish > ~/.config/fish/completions/cup.fish",
      ),
    )
    .action(
      withoutContext(async (_progress, shell: (typeof SHELLS)[number]) =>
        (await import("../completion/scripts.ts")).completionScript(shell),
      ),
    );
  program
    .command("__complete [words...]", { hidden: true })
    .action(
      withoutContext(async (_progress, words: string[]) =>
        (await import("../completion/complete.ts")).complete(program, words),
      ),
    );
}
