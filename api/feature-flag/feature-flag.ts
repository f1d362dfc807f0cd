// Endpoints of FeatureFlag: `/v3/feature_flags`. Every CF flag is listed, with or without a FeatureFlag object.
import { z } from "zod";
import { FeatureFlag } from "../../crds/feature-flag/feature-flag.ts";
import {
  FLAG_NAMES,
  toFlagObjectName,
  isFlagEnabled,
  isFlagName,
  type FlagName,
} from "../../crds/feature-flag/flags.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { notFound } from "../http/errors.ts";
import { findFlag } from "../cf/feature-flags.ts";
import { isOneOf } from "../lists/list-objects.ts";
import { presentPage } from "../lists/page.ts";
import { link } from "../http/presentation.ts";
import { csv, orderBy, pagingParameters, timeFilter, timeParameters } from "../http/query.ts";
import { matchesTimeFilter } from "../http/timestamps.ts";
import { updatedAt } from "../cache/object-times.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

const path = "/v3/feature_flags/:name";

const flagListQuery = z.strictObject({
  ...pagingParameters,
  order_by: orderBy("name"),
  guids: csv.optional(),
  names: csv.optional(),
  ...timeParameters("updated_ats"),
});
const updateFlagBody = z.strictObject({
  enabled: z.boolean().optional(),
  custom_error_message: z
    .string()
    .min(1, "is too short (minimum is 1 character)")
    .max(250, "is too long (maximum is 250 characters)")
    .nullish(),
});

/** When a flag was set; null while it has CF's default. */
function changedAt(flag: FeatureFlag | undefined): string | null {
  const isConfigured = flag?.spec.enabled !== undefined || flag?.spec.customErrorMessage !== undefined;
  return isConfigured ? updatedAt(flag) : null;
}

function present(
  cache: ClusterCache,
  name: FlagName,
  base: string,
  flag: FeatureFlag | undefined = findFlag(cache, name),
): object {
  return {
    name,
    enabled: isFlagEnabled(name, flag),
    updated_at: changedAt(flag),
    custom_error_message: flag?.spec.customErrorMessage ?? null,
    links: { self: link(`${base}/v3/feature_flags/${name}`) },
  };
}

/** @throws CFError 404 */
function flagNamed(name: string | undefined): FlagName {
  if (name === undefined || !isFlagName(name)) throw notFound("Feature flag");
  return name;
}

const list = endpoint({
  method: "GET",
  path: "/v3/feature_flags",
  permission: "authenticated",
  query: flagListQuery,
  summary: "List feature flags",
  handler: ({ session, query, base, url }) => {
    const updated = timeFilter(query, "updated_ats");
    const names = FLAG_NAMES.filter(
      (name) =>
        isOneOf(query.guids, name) &&
        isOneOf(query.names, name) &&
        (!updated || matchesTimeFilter(updated, Date.parse(changedAt(findFlag(session.cache, name)) ?? "") / 1000)),
    );
    if (query.order_by === "-name") names.reverse();
    return ok(presentPage(names, { base, url, query }, (name) => present(session.cache, name, base)));
  },
});

const get = endpoint({
  method: "GET",
  path,
  permission: "authenticated",
  summary: "Get a feature flag",
  handler: ({ session, params, base }) => ok(present(session.cache, flagNamed(params.name), base)),
});

const update = endpoint({
  method: "PATCH",
  path,
  permission: { verb: "patch", on: FeatureFlag },
  asks: [{ verb: "create", on: FeatureFlag }],
  body: updateFlagBody,
  summary: "Update a feature flag",
  handler: async ({ session, params, body, base }) => {
    const name = flagNamed(params.name);
    const key = { namespace: SYSTEM_NAMESPACE, name: toFlagObjectName(name) };
    session.authorize({ verb: "patch", on: FeatureFlag, ...key });
    const { enabled, custom_error_message: customErrorMessage } = body;
    const spec = {
      ...(enabled !== undefined && { enabled }),
      ...(customErrorMessage !== undefined && { customErrorMessage }),
    };
    const flag = findFlag(session.cache, name);
    const made = flag
      ? await session.patch(FeatureFlag, flag, { type: "merge", body: { spec } })
      : await session.create(FeatureFlag, {
          metadata: key,
          spec: { ...spec, customErrorMessage: customErrorMessage ?? undefined },
        });
    return ok(present(session.cache, name, base, made));
  },
});

export const featureFlagEndpoints: readonly Endpoint[] = [list, get, update];
