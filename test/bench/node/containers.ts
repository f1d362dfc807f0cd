// When containers began and ended, from the lines of `ctr events`: Kubernetes tells it in whole seconds only. Pure.

export interface ContainerTimes {
  /** Milliseconds since 1970. */
  started?: number;
  exited?: number;
}

const LINE = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)? \+0000 UTC \S+ \/tasks\/(start|exit) (\{.*\})$/;

/** By the container's id. Processes that are run in a container besides, as probes are, do not count. */
export function readContainerTimes(log: string): Map<string, ContainerTimes> {
  const times = new Map<string, ContainerTimes>();
  for (const line of log.split("\n")) {
    const [, date, time, fraction = "", topic, json = ""] = LINE.exec(line) ?? [];
    if (date === undefined) continue;
    const event = JSON.parse(json) as { container_id: string; id?: string };
    if (event.id !== undefined && event.id !== event.container_id) continue;
    const at = Date.parse(`${date}T${time}Z`) + Number(`0${fraction}`) * 1000;
    const known = times.get(event.container_id) ?? {};
    times.set(event.container_id, { ...known, [topic === "start" ? "started" : "exited"]: at });
  }
  return times;
}
