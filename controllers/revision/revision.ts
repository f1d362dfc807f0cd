// Says Ready on a Revision. Only the app controller writes Revisions, with their GUIDs.
import { Revision } from "../../crds/revision/revision.ts";
import { defineController } from "../../kube/controller/controller.ts";
import { APP_INDEX, byApp } from "../shared/app-owned.ts";

export const revisionController = defineController({ name: "revision", for: Revision, workers: 1, indexes: { [APP_INDEX]: byApp }, reconcile: () => ({}) });
