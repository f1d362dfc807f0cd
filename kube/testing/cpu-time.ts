// Processor time of a synchronous step. Unlike the clock's time it hardly depends on what else the machine does.

/** Milliseconds of this process's processor time, its other threads included. */
export function cpuMilliseconds(step: () => void): number {
  const before = process.cpuUsage();
  step();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
