// Reads the TOML files that buildpacks write, against a schema, with errors that name the buildpack.
import { readFile } from "node:fs/promises";
import { parse } from "smol-toml";
import { z } from "zod";
import { StagingFailure } from "../../staging-failure.ts";

/** The file's content; undefined when the file does not exist. `who` is the buildpack that wrote it. @throws StagingFailure */
export async function findToml<T extends z.ZodType>(
  path: string,
  schema: T,
  owner: string,
): Promise<z.output<T> | undefined> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined || text.trim() === "") return undefined;
  try {
    return schema.parse(parse(text));
  } catch (cause) {
    const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause);
    throw new StagingFailure(
      "BuildpackCompileFailed",
      `${owner} wrote ${path.split("/").slice(-1)[0] ?? path}, which is not as the Buildpack specification has it: ${reason}`,
      { cause },
    );
  }
}
