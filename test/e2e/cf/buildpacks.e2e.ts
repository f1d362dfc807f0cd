// Runs buildpacks.cases.ts.
import { BUILDPACK_CASES } from "./buildpacks.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("buildpacks", BUILDPACK_CASES);
