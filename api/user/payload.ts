// Bodies and queries of users.
import { z } from "zod";
import { metadataSchema } from "../http/metadata.ts";
import { csv, listQuery } from "../http/query.ts";

/** As in CF, `usernames` excludes `partial_usernames`, and `origins` needs one of them. */
export const userListQuery = listQuery({
  usernames: csv.optional(),
  partial_usernames: csv.optional(),
  origins: csv.optional(),
})
  .refine(({ usernames, partial_usernames }) => !usernames || !partial_usernames, {
    path: ["usernames"],
    message: "filter cannot be provided with both usernames and partial_usernames filter.",
  })
  .refine(({ origins, usernames, partial_usernames }) => !origins || usernames || partial_usernames, {
    path: ["origins"],
    message: "filter cannot be provided without usernames or partial_usernames filter.",
  });

const text = z.string().min(1).max(200).nullish();

interface Named {
  guid?: string | null | undefined;
  username?: string | null | undefined;
  origin?: string | null | undefined;
}

/** Faults in how a body names a user, in CF's words. */
function findNamingProblems({ guid, username, origin }: Named): [string, string][] {
  if (guid) {
    const given = Object.entries({ username, origin }).filter(([, value]) => value);
    return given.map(([name]) => [name, "cannot be provided with 'guid'"]);
  }
  if (!username && !origin) return [["guid", "or 'username' and 'origin' must be provided"]];
  return [
    ...(username ? [] : [["origin", "can only be provided together with 'username'"] as [string, string]]),
    ...(origin ? [] : [["username", "can only be provided together with 'origin'"] as [string, string]]),
    ...(origin === "uaa" ? [["origin", "cannot be 'uaa' when creating a user by username"] as [string, string]] : []),
  ];
}

export const createUserBody = z
  .strictObject({ guid: text, username: text, origin: text, metadata: metadataSchema.optional() })
  .superRefine((body, context) => {
    for (const [path, message] of findNamingProblems(body)) context.addIssue({ code: "custom", path: [path], message });
  });
