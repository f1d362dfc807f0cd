// Sets the GUID of a User record; the API reads the rest from its spec.
import { User } from "../../crds/user/user.ts";
import { defineGUIDController } from "../shared/guid-controller.ts";

export const userController = defineGUIDController("user", User);
