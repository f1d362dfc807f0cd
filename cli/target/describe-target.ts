// Output of `cup login` and `cup target`.
import { fields, type Result } from "../output.ts";

/** The name in use, or why there is none and what to do. Neither: not asked for. */
export interface NameOrReason {
  name?: string;
  reason?: string;
}

export interface TargetInUse {
  api: string;
  org: NameOrReason;
  space: NameOrReason;
}

export function describeTarget({ api, org, space }: TargetInUse, user: string): Result {
  return {
    json: { api, user, org: org.name, space: space.name },
    text: fields([
      ["API", api],
      ["user", user],
      ["org", org.name ?? org.reason ?? "none"],
      ["space", space.name ?? space.reason ?? "none"],
    ]),
  };
}
