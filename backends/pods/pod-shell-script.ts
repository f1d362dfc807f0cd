// The programs of a session of `cf ssh` in a container: one runs what the person asked for, the other ends whatever the session has left behind. Pure.
import type { Terminal } from "../remote-process.ts";

const SHELL = "/bin/sh";
/** Marks each process of a session, so that daemons are found, too. */
const MARK = "CUPOLA_SSH_SESSION";
const INTERACTIVE = "if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi";

/** SIGHUP, then SIGKILL, until no process of the session is left. $1: how many rounds to look at least. */
const END_MARKED = `
end_marked() {
  round=0
  while [ "$round" -lt 20 ]; do
    found=
    for dir in /proc/[0-9]*; do
      case "$(cat "$dir/environ")" in
        *"${MARK}=$mark"*)
          found=1
          if [ "$round" = 0 ]; then kill -s HUP "\${dir#/proc/}"; else kill -s KILL "\${dir#/proc/}"; fi
          ;;
      esac
    done 2>/dev/null
    if [ -z "$found" ] && [ "$round" -ge "$1" ]; then break; fi
    round=$((round + 1))
    sleep 0.3 2>/dev/null || sleep 1
  done
}`;

/** Its first byte says that it runs. Shells that it starts have the mark; it does not, so that it outlives them and reports their status. */
const RUN = `mark=$0${END_MARKED}
printf +
trap : INT QUIT HUP TERM
if [ -n "$2" ]; then TERM=$2; export TERM; stty rows "$3" cols "$4" 2>/dev/null; fi
run() { ${MARK}="$mark" "$@"; }
case "$1" in
  cnb)
    if command -v bash >/dev/null 2>&1; then run /cnb/lifecycle/launcher "$5"
    else run /cnb/lifecycle/launcher -- ${SHELL} -c "$5"; fi
    ;;
  *) run ${SHELL} -c "$5" ;;
esac
code=$?
end_marked 0
exit "$code"`;

/** Reads until its connection ends, whoever ends it: a proxy that is killed ends its sessions, too. */
const KEEP = `mark=$0${END_MARKED}
printf +
trap : INT QUIT HUP TERM
while read -r line; do :; done
end_marked 1`;

/** A session in a container. */
export interface PodSession {
  /** Differs from session to session. */
  mark: string;
  dropletKind: string;
  command: string | undefined;
  terminal?: Terminal | undefined;
}

/** The environment of a cnb image is made by its launcher. */
export function runCommand({ mark, dropletKind, command, terminal }: PodSession): string[] {
  const { term = "", rows = 0, columns = 0 } = terminal ?? {};
  const asked = command === undefined || command === "" ? INTERACTIVE : command;
  return [SHELL, "-c", RUN, mark, dropletKind, term, String(rows), String(columns), asked];
}

export function keepCommand(mark: string): string[] {
  return [SHELL, "-c", KEEP, mark];
}
