// The completion scripts of shells. All ask `cup` itself, so they never lag behind it.
import type { Result } from "../output.ts";

const SCRIPTS = {
  bash: `# cup completion for bash
_cup() {
  local IFS=$'\\n'
  COMPREPLY=($(cup __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _cup cup`,
  zsh: `#compdef cup
# cup completion for zsh
_cup() {
  local -a found
  found=("\${(@f)$(cup __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
if [[ "$funcstack[1]" = _cup ]]; then _cup "$@"; else compdef _cup cup; fi`,
  fish: `# cup completion for fish
complete -c cup -a '(cup __complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'`,
} as const;

export function completionScript(shell: keyof typeof SCRIPTS): Promise<Result> {
  return Promise.resolve({ json: { shell, script: SCRIPTS[shell] }, text: [SCRIPTS[shell]] });
}
