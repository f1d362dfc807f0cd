// Files longer than 300 lines, each with the reason why it is one thing. 500 is the end for everybody.

export const longFiles: Record<string, string> = {};

/** Controllers without a plan.ts, each with the reason why there is nothing to plan. */
export const withoutPlan: Record<string, string> = {
  "controllers/claim": "one question, asked of the cache and then live; the rule is crds/claim/rules.ts",
  "controllers/domain": "settles a GUID and a claim only, by shared code",
  "controllers/environment-group": "says Ready only; processes and builds read it when they start",
};

/** Import circles that are still there, one list of files for each. A circle may shrink; when it is gone its list goes, too. */
export const remainingCircles: readonly (readonly string[])[] = [];

/** Files and folders with sources that only tests use so far, each with the work that is going to use them. */
export const forLater: Record<string, string> = {};
