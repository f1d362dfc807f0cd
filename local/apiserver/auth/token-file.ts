// Static bearer tokens, kept in one file of the server's folder that only its owner may read.
import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { UserInfo } from "../types.ts";

const fileName = "tokens.json";
const entry = z.object({
  token: z.string().min(1),
  user: z.object({ name: z.string().min(1), uid: z.string().optional(), groups: z.array(z.string()) }),
});

/** The tokens of a folder. `users` is live: a token works as soon as `add` returns. */
export interface TokenFile {
  users: Map<string, UserInfo>;
  /** The token of a user of this name, made and written down when there is none yet. Groups are those given last. */
  add(name: string, groups: string[]): Promise<string>;
}

/** Opens the tokens of a folder; none yet is fine, a file that cannot be read is an error. */
export async function openTokenFile(dir: string): Promise<TokenFile> {
  const path = join(dir, fileName);
  const users = new Map((await readEntries(path)).map((one) => [one.token, one.user] as const));
  return {
    users,
    add: async (name, groups) => {
      const token = [...users].find(([, user]) => user.name === name)?.[0] ?? randomBytes(24).toString("base64url");
      users.set(token, { name, groups });
      await writeEntries(dir, path, users);
      return token;
    },
  };
}

async function readEntries(path: string): Promise<z.infer<typeof entry>[]> {
  try {
    return z.array(entry).parse(JSON.parse(await readFile(path, "utf8")));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
    // Without the cause: it could quote the file.
    throw new Error(`${path} is not a list of tokens; remove it to start with new ones`);
  }
}

async function writeEntries(dir: string, path: string, users: Map<string, UserInfo>): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const text = JSON.stringify(
    [...users].map(([token, user]) => ({ token, user })),
    null,
    2,
  );
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
