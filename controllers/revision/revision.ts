// Sets Ready on Revisions. Only the app controller writes Revisions, with their GUIDs.
import { Revision } from "../../crds/revision/revision.ts";
import { defineController } from "../../kube/controller/controller.ts";
import { OWNING_APP_INDEX, indexByApp } from "../shared/app-owned.ts";

export const revisionController = defineController({
  name: "revision",
  for: Revision,
  workers: 1,
  indexes: { [OWNING_APP_INDEX]: indexByApp },
  reconcile: () => ({}),
});
