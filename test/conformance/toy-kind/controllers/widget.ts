// The toy kind's controller as a contributor writes it in controllers/<kind>/.
import { resolveGUID, indexByGUID, GUID_INDEX } from "../../../../controllers/shared/guid.ts";
import { defineController } from "../../../../kube/controller/controller.ts";
import { Widget } from "../crds/widget.ts";

export const widgetController = defineController({
  name: "widget",
  for: Widget,
  indexes: { [GUID_INDEX]: indexByGUID },
  reconcile: (widget, context) => ({
    labels: resolveGUID(Widget, widget, context).labels,
    status: { doubled: widget.spec.size * 2 },
  }),
});
