// Sets the GUID of a Stack; builders and the API read the rest from its spec.
import { Stack } from "../../crds/stack/stack.ts";
import { defineGUIDController } from "../shared/guid-controller.ts";

export const stackController = defineGUIDController("stack", Stack);
