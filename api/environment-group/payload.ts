// The body that changes an environment variable group.
import { z } from "zod";
import { variablesSchema } from "../cf/app/app-env.ts";

export const updateGroupBody = z.strictObject({ var: variablesSchema });
