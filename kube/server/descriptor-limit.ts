// How many file descriptors this process may open. Node has raised the soft limit to the hard one before our code runs.

/** Assumed where the system names no limit: a bound is still a bound. */
const whenUnlimited = 1_048_576;
let known: number | undefined;

/** Descriptors that this process may have open at once. Read once. */
export function countDescriptors(): number {
  return (known ??= readLimit());
}

function readLimit(): number {
  // Names of peers are looked up otherwise.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as unknown as {
    userLimits?: { open_files?: { soft: number | "unlimited" } };
  };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === "number" && soft > 0 ? soft : whenUnlimited;
}
