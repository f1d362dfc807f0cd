// Where the API's lines about an app go: into this process's ring if every reader asks it, else to the replica that keeps the app's logs.
import type { LogEntry } from "../../telemetry/envelope.ts";
import { startLogPush } from "../../telemetry/log-push.ts";
import { findLiveMembers } from "../leases/replica-membership.ts";
import { deriveAddressToken, isHttpAddress } from "../peers/address-token.ts";
import type { PeerServers, PlatformContext } from "../platform-context.ts";
import { findLogOwner, keepsOwnLines, toTelemetryAddress } from "./replica-logs.ts";

/** Stores or sends lines until the platform stops. A line that no replica takes within a minute is dropped. */
export function startAppLog(
  { membership, options, log, disposables }: Pick<PlatformContext, "membership" | "options" | "log" | "disposables">,
  { telemetry, secret }: PeerServers,
): (entry: LogEntry) => void {
  if (telemetry && keepsOwnLines(options.operations)) return (entry) => telemetry.log(entry);
  const push = startLogPush({
    findOwner(source) {
      const owner = findLogOwner(findLiveMembers(membership) ?? [], source);
      const address = owner && toTelemetryAddress(owner);
      if (!address || !isHttpAddress(address.url)) return undefined;
      return { ...address, token: deriveAddressToken(secret(), "telemetry", address.url) };
    },
    onDropped: (reason, err) => log.debug({ err, reason }, "a line of the API about an app was dropped"),
  });
  disposables.defer(() => push.stop());
  return push.log;
}
