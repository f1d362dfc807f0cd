// The command that connects from inside of an instance, for `cf ssh -L`: what the app reaches is reached, and nothing else. Pure.
import { singleQuote } from "../../backends/host/single-quote.ts";

/** No option of a program: it begins with no dash. */
const ADDRESS = /^[A-Za-z0-9:][A-Za-z0-9._:-]{0,252}$/;
/** Writes a byte once the connection stands, then copies both ways; ends when the other side does. */
const SCRIPT = [
  'exec 3<>"/dev/tcp/$0/$1" || exit 1',
  "printf '\\0'",
  "cat <&0 >&3 &",
  "cat <&3",
  "kill $! 2>/dev/null",
].join("\n");

/** For images without bash: BusyBox has nc. It cannot say when the connection stands, so a refused one is opened and ends at once. */
const NETCAT_SCRIPT = ["command -v nc >/dev/null || exit 1", "printf '\\0'", 'exec nc "$0" "$1"'].join("\n");

/** Needs bash or nc; without both the connection is refused. Undefined for what is no address. */
export function toForwardCommand(host: string, port: number): string | undefined {
  if (!ADDRESS.test(host) || !Number.isInteger(port) || port < 1 || port > 65535) return undefined;
  const by = (shell: string, script: string): string =>
    `exec ${shell} -c ${singleQuote(script)} ${singleQuote(host)} ${port}`;
  return `command -v bash >/dev/null && ${by("bash", SCRIPT)}\n${by("sh", NETCAT_SCRIPT)}`;
}
