// Controllers of kinds whose objects need a GUID, a held name or both, and nothing else: builders, brokers and the API read the rest from their specs.
import { Buildpack } from "../crds/buildpack/buildpack.ts";
import { isolationSegmentName, spaceQuotaName } from "../crds/claim/rules.ts";
import { IsolationSegment } from "../crds/isolation-segment/isolation-segment.ts";
import { ServiceOffering } from "../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../crds/service-plan/service-plan.ts";
import { SpaceQuota } from "../crds/space-quota/space-quota.ts";
import { Stack } from "../crds/stack/stack.ts";
import { User } from "../crds/user/user.ts";
import type { Controller } from "../kube/controller/controller.ts";
import { defineGUIDController, defineNamedController } from "./shared/guid-controller.ts";

export const guidControllers: readonly Controller[] = [
  defineGUIDController("buildpack", Buildpack),
  defineGUIDController("stack", Stack),
  defineGUIDController("user", User),
  defineGUIDController("service-offering", ServiceOffering),
  defineGUIDController("service-plan", ServicePlan),
  defineNamedController("space-quota", SpaceQuota, spaceQuotaName),
  defineNamedController("isolation-segment", IsolationSegment, isolationSegmentName),
];
