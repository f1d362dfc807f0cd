// The number of a task, counted per app from 1. Kubernetes decides a race: a task made through the CF API has its number in its object name.
import { ageSortKey } from "../guid.ts";
import type { Task } from "./task.ts";

/** The object name of an app's task with this number. */
export function taskObjectName(app: string, sequenceID: number): string {
  return `${app}.${sequenceID}`;
}

/** The number in a task's object name, `<app>.<number>`; undefined for any other name. */
export function sequenceInName({ metadata, spec }: Task): number | undefined {
  const prefix = `${spec.appRef.name}.`;
  const rest = metadata.name.startsWith(prefix) ? metadata.name.slice(prefix.length) : "";
  return /^[1-9]\d{0,8}$/.test(rest) ? Number(rest) : undefined;
}

/** The task's number: the one in its name, else the one that its controller chose; undefined until then. */
export function sequenceOf(task: Task): number | undefined {
  return sequenceInName(task) ?? task.status?.sequenceID;
}

/** The number after the highest of an app's tasks. */
export function nextSequence(tasks: readonly Task[]): number {
  return Math.max(0, ...tasks.map((task) => sequenceOf(task) ?? 0)) + 1;
}

/** A task keeps its number, unless another one has it in its name or is older; then it gets the next one. `tasks` are all of the app. */
export function planSequence(task: Task, tasks: readonly Task[]): number {
  const named = sequenceInName(task);
  if (named !== undefined) return named;
  const known = task.status?.sequenceID;
  const others = tasks.filter(({ metadata }) => metadata.uid !== task.metadata.uid);
  const hasPriority = (other: Task): boolean =>
    sequenceInName(other) !== undefined || ageSortKey(other) < ageSortKey(task);
  const isFree = known !== undefined && !others.some((other) => sequenceOf(other) === known && hasPriority(other));
  return isFree ? known : nextSequence(others);
}

/** A task whose result is known. It never changes again. */
export function isFinished({ status }: Task): boolean {
  return status?.state === "Succeeded" || status?.state === "Failed";
}
