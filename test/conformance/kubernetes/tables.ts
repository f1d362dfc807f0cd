// All rows of the contract, by table. The suite runs them; docs/fidelity.md lists them.
import type { Row } from "./row.ts";
import { accessRows } from "./rows/access.ts";
import { admissionRows } from "./rows/admission.ts";
import { applyRows } from "./rows/apply.ts";
import { edgeCaseRows } from "./rows/edge-cases.ts";
import { crdRows } from "./rows/crds.ts";
import { deletionRows } from "./rows/deletion.ts";
import { discoveryRows } from "./rows/discovery.ts";
import { errorRows } from "./rows/errors.ts";
import { listRows } from "./rows/lists.ts";
import { managedRows } from "./rows/managed.ts";
import { networkEdgeCaseRows } from "./rows/network-edge-cases.ts";
import { objectRows } from "./rows/objects.ts";
import { openapiRows } from "./rows/openapi.ts";
import { printerColumnRows } from "./rows/printer-columns.ts";
import { validationRows } from "./rows/validation.ts";
import { reviewRows } from "./rows/reviews.ts";
import { strategicRows } from "./rows/strategic.ts";
import { streamRows } from "./rows/streams.ts";
import { watchRows } from "./rows/watches.ts";
import { webhookAnswerRows } from "./rows/webhook-answers.ts";
import { webhookChoiceRows } from "./rows/webhook-choices.ts";
import { webhookRequestRows } from "./rows/webhook-requests.ts";

export const tables: Record<string, Row[]> = {
  objects: objectRows,
  lists: listRows,
  printed: printerColumnRows,
  watches: watchRows,
  streams: streamRows,
  strategic: strategicRows,
  apply: applyRows,
  managed: managedRows,
  deletion: deletionRows,
  crds: crdRows,
  corners: [...edgeCaseRows, ...networkEdgeCaseRows],
  refused: validationRows,
  admission: admissionRows,
  webhooks: [...webhookRequestRows, ...webhookAnswerRows, ...webhookChoiceRows],
  access: accessRows,
  reviews: reviewRows,
  errors: errorRows,
  discovery: discoveryRows,
  openapi: openapiRows,
};
