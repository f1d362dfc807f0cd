// `POST /v3/resource_matches`: lists the files of a push that need not be uploaded again.
import { z } from "zod";
import { matchResources, type Resource } from "../../blobs/package/resources.ts";
import { endpoint, type Endpoint } from "../routing/endpoint.ts";
import { requireFlag } from "../cf/feature-flags.ts";
import { listKnownPackages, MATCHED_PACKAGES } from "../cf/package/known-packages.ts";
import type { Services } from "../routing/services.ts";
import { Package } from "../../crds/package/package.ts";

const body = z.strictObject({
  resources: z
    .array(
      z.object({
        path: z.string().max(4096).nullish(),
        mode: z.string().min(1).max(10).nullish(),
        checksum: z.strictObject({ value: z.string().length(40) }),
        size_in_bytes: z.int().min(0),
      }),
    )
    .min(1, "must have at least 1 resource")
    .max(5000, "is too long (maximum is 5000 resources)"),
});

type Match = z.output<typeof body>["resources"][number];

function toResource({ path, mode, checksum, size_in_bytes }: Match): Resource {
  return { path: path ?? "", mode: mode ?? "644", sha1: checksum.value, size: size_in_bytes };
}

/**
 * As in CF, matches files across all spaces that the caller may read, since the request names no space. Files that the
 * caller may not read never match: a match would reveal that another space has them.
 */
export function resourceMatchEndpoints({ blobs }: Services): readonly Endpoint[] {
  return [
    endpoint({
      method: "POST",
      path: "/v3/resource_matches",
      permission: "authenticated",
      asks: [{ verb: "get", on: Package, subresource: "content" }],
      body,
      summary: "Find files that are already stored",
      handler: async ({ session, body }) => {
        requireFlag(session, "app_bits_upload");
        const sources = listKnownPackages(session, MATCHED_PACKAGES);
        const matches = await matchResources(blobs, sources, body.resources.map(toResource));
        const known = new Set(matches.map(({ sha1, size }) => `${sha1} ${size}`));
        const resources = body.resources.filter((one) => known.has(`${one.checksum.value} ${one.size_in_bytes}`));
        return { status: 201, body: { resources } };
      },
    }),
  ];
}
