// How many file descriptors this process may open. Node has raised the soft limit to the hard one before our code runs.

/** Assumed when the system has no limit, so that our bounds stay finite. */
const whenUnlimited = 1_048_576;
let known: number | undefined;

/** File descriptors that this process may have open at once; cached. */
export function countDescriptors(): number {
  return (known ??= readLimit());
}

function readLimit(): number {
  // Otherwise the report looks up the names of peers.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as unknown as {
    userLimits?: { open_files?: { soft: number | "unlimited" } };
  };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === "number" && soft > 0 ? soft : whenUnlimited;
}
