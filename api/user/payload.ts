// Queries of user lists.
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
