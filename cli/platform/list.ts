// Lists what the platform offers to builds.
import type { Context } from "../context.ts";
import { table, type Result } from "../output.ts";

const COLUMNS = {
  buildpacks: ["position", "name", "stack", "enabled", "locked", "state"],
  stacks: ["name", "description", "default"],
} as const;

export async function listPlatform({ api }: Context, what: keyof typeof COLUMNS): Promise<Result> {
  const found = await api.list(`/v3/${what}`);
  return {
    json: found,
    text: table(
      COLUMNS[what],
      found.map((item) => COLUMNS[what].map((column) => String(item[column] ?? ""))),
    ),
  };
}
