// The body that changes an environment variable group.
import { z } from "zod";
import { variablesSchema } from "../cf/app/app-env.ts";

/** As in CF, an empty body changes nothing. */
export const updateGroupBody = z.strictObject({ var: variablesSchema.default({}) });
