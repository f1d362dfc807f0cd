// `cup tasks`, and `cup cancel-task`.
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { table, type Result } from "../output.ts";

interface Task extends Resource {
  sequence_id: number;
  state: string;
  command?: string;
  created_at: string;
  result: { failure_reason: string | null };
}

export async function listTasks(context: Context, appName: string): Promise<Result> {
  const app = await context.app(appName);
  const tasks = await context.api.list<Task>(`/v3/apps/${app.guid}/tasks`, { order_by: "-created_at" });
  if (tasks.length === 0) return { json: [], text: [`No tasks of ${appName}. Next: cup run ${appName} -- ls`] };
  const rows = tasks.map((task) => [
    String(task.sequence_id),
    task.name,
    task.state.toLowerCase(),
    task.created_at,
    task.command ?? "[hidden]",
    task.result.failure_reason ?? "",
  ]);
  return { json: tasks, text: table(["id", "name", "state", "started", "command", "reason"], rows) };
}

export async function cancelTask(context: Context, appName: string, id: number): Promise<Result> {
  const app = await context.app(appName);
  const [task] = await context.api.list<Task>(`/v3/apps/${app.guid}/tasks`, { sequence_ids: String(id) });
  if (!task) throw new Failure(`${appName} has no task ${id}`, { next: `cup tasks ${appName}` });
  const cancelled = await context.api.request("POST", `/v3/tasks/${task.guid}/actions/cancel`);
  return { json: cancelled, text: [`Task ${id} (${task.name}) of ${appName} ends.`] };
}
