// Sets the GUID of a Buildpack; builders and the API read the rest from its spec.
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { defineGUIDController } from "../shared/guid-controller.ts";

export const buildpackController = defineGUIDController("buildpack", Buildpack);
