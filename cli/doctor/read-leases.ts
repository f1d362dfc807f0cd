// The Leases of work that one process does for all. A Lease that looks late is read again after its duration, so that no clocks are compared.
import { setTimeout as delay } from "node:timers/promises";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Lease, type Deployment } from "../../kube/api/builtin.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import { operationsOf } from "./chart-arguments.ts";
import type { LeaseRow } from "./facts.ts";
import type { FactReader } from "./fact-reader.ts";

const PREFIX = "leader-";
const MAX_WAIT_MS = 30_000;

export async function readLeases(
  reader: FactReader,
  { deployments, now }: { deployments: readonly ObjectOf<typeof Deployment>[]; now: number },
): Promise<LeaseRow[]> {
  const first = await listLeaders(reader, deployments);
  const suspects = first.filter((lease) => looksLate(lease, now));
  if (suspects.length === 0) return first.map((lease) => toRow(lease, false));
  const waitMs = Math.min(Math.max(...suspects.map(durationOf)) + 1_000, MAX_WAIT_MS);
  await delay(waitMs, undefined, { signal: reader.call.signal });
  const before = new Map(suspects.map((lease) => [lease.metadata.name, lease]));
  return (await listLeaders(reader, deployments)).map((lease) => {
    const earlier = before.get(lease.metadata.name);
    const isSame =
      earlier?.spec?.renewTime === lease.spec?.renewTime &&
      earlier?.spec?.holderIdentity === lease.spec?.holderIdentity;
    return toRow(lease, earlier !== undefined && isSame);
  });
}

/** Leases stay when an operation is turned off; those of installed operations count. */
async function listLeaders(
  { list }: FactReader,
  deployments: readonly ObjectOf<typeof Deployment>[],
): Promise<Lease[]> {
  const installed = new Set(deployments.flatMap(operationsOf));
  const leases = await list(Lease, { namespace: SYSTEM_NAMESPACE });
  return leases.filter(({ metadata: { name } }) => name.startsWith(PREFIX) && installed.has(name.slice(PREFIX.length)));
}

const durationOf = ({ spec }: Lease): number => (spec?.leaseDurationSeconds ?? 15) * 1000;

/** The holder's clock is not kube-apiserver's, so it is a suspicion only. A Lease that nobody holds is not late. */
function looksLate(lease: Lease, now: number): boolean {
  const renewedAt = Date.parse(String(lease.spec?.renewTime ?? ""));
  return !!lease.spec?.holderIdentity && !(now - renewedAt < durationOf(lease));
}

function toRow({ metadata, spec }: Lease, isLate: boolean): LeaseRow {
  return { name: metadata.name, holder: spec?.holderIdentity ?? "", isLate };
}
