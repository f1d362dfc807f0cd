// Says Ready on a Revision. Only the app controller writes Revisions, with their GUIDs.
import { Revision } from "../../crds/revision/revision.ts";
import { defineController } from "../../kube/controller.ts";

export const revisionController = defineController({ name: "revision", for: Revision, reconcile: () => ({}) });
