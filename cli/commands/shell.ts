// The commands about the commands: help, and completion for shells.
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

/** `cup help` with all words of a command: Commander's own takes one, and shows the help of `rollout` for `rollout start`. */
export function addHelp(program: Command): void {
  program
    .helpCommand(false)
    .command("help [command...]")
    .description("explain a command, with an example")
    .action((words: string[]) => {
      const [command, unknown] = findCommand(program, words);
      if (unknown !== undefined) command.error(`error: unknown command '${unknown}'`);
      command.help();
    });
}

/** The command that the words name, and the first word that names none. */
function findCommand(program: Command, words: readonly string[]): [found: Command, unknown?: string] {
  let command = program;
  for (const word of words) {
    const child = command.commands.find((one) => one.name() === word);
    if (!child) return [command, word];
    command = child;
  }
  return [command];
}
