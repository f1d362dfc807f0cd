// Sets the GUID of an IsolationSegment and holds its name.
import { isolationSegmentName } from "../../crds/claim/rules.ts";
import { IsolationSegment } from "../../crds/isolation-segment/isolation-segment.ts";
import { defineNamedController } from "../shared/guid-controller.ts";

export const isolationSegmentController = defineNamedController(
  "isolation-segment",
  IsolationSegment,
  isolationSegmentName,
);
