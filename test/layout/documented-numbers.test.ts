// Numbers that documents and the chart repeat are those of the sources.
import { expect, test } from "vitest";
import { DEFAULT_CONCURRENCY } from "../../backends/builders/cnb/parameters.ts";
import { GRACE_SECONDS } from "../../backends/grace-seconds.ts";
import { MAX_UNPACKED_BYTES } from "../../blobs/droplet/max-unpacked-bytes.ts";
import { DEFAULT_PORT } from "../../crds/process/defaults.ts";
import { LEASE_SECONDS } from "../../platform/leases/replica-membership.ts";
import { WEBHOOK_PORT } from "../../platform/cupola-options.ts";
import { readText } from "./source-tree.ts";

test.each<[file: string, text: string]>([
  ["docs/backends.md", `(${DEFAULT_PORT} unless set)`],
  ["docs/backends.md", `SIGTERM, ${GRACE_SECONDS} s, SIGKILL`],
  ["docs/backends.md", `default ${DEFAULT_CONCURRENCY}.`],
  ["docs/blobs.md", `unpacks to ${MAX_UNPACKED_BYTES / 2 ** 30} GiB at most`],
  ["docs/replicas.md", `until ${LEASE_SECONDS} s after the last renewal`],
  ["docs/replicas.md", `listens at port ${WEBHOOK_PORT}`],
  ["deploy/helm/cupola/templates/_helpers.tpl", `{{- define "cupola.webhookPort" }}${WEBHOOK_PORT}{{ end }}`],
  ["deploy/helm/cupola/values.yaml", `concurrency: ${DEFAULT_CONCURRENCY}\n`],
])("%s has %s", (file, text) => expect(readText(file)).toContain(text));
