// The command that connects from inside of an instance, for `cf ssh -L`: what the app reaches is reached, and nothing else. Pure.
import { singleQuote } from "../../backends/host/single-quote.ts";

const ADDRESS = /^[A-Za-z0-9._:-]{1,253}$/;
/** Writes a byte once the connection stands, then copies both ways; ends when the other side does. */
const SCRIPT = [
  'exec 3<>"/dev/tcp/$0/$1" || exit 1',
  "printf '\\0'",
  "cat <&0 >&3 &",
  "cat <&3",
  "kill $! 2>/dev/null",
].join("\n");

/** Needs bash; without it the connection is refused. Undefined for what is no address. */
export function toForwardCommand(host: string, port: number): string | undefined {
  if (!ADDRESS.test(host) || !Number.isInteger(port) || port < 1 || port > 65535) return undefined;
  return `exec bash -c ${singleQuote(SCRIPT)} ${singleQuote(host)} ${port}`;
}
