// Content negotiation: the format of the answer.
import type { IncomingMessage } from "node:http";
import { notAcceptable } from "../status.ts";

export interface Wanted {
  format: "json" | "yaml";
  /** `Table`, `PartialObjectMetadata(List)`, `APIGroupDiscoveryList`: what `as=` asks for. */
  as?: string;
}

interface Offer extends Wanted {
  quality: number;
}

const ACCEPTED = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const VIEWS = new Set(["Table", "PartialObjectMetadata", "PartialObjectMetadataList", "APIGroupDiscoveryList"]);

/** Reads `Accept`. `views` are the `as=` this path can give; others fall to the next choice. Throws 406. */
export function negotiate(request: IncomingMessage, views: string[]): Wanted {
  const header = request.headers.accept;
  if (!header) return { format: "json" };
  const offers = header
    .split(",")
    .flatMap((part) => readOffer(part, views))
    .sort((a, b) => b.quality - a.quality);
  const best = offers[0];
  if (!best) throw notAcceptable(ACCEPTED);
  return { format: best.format, ...(best.as && { as: best.as }) };
}

const FORMATS: Record<string, Wanted["format"]> = {
  "application/yaml": "yaml",
  "text/yaml": "yaml",
  "application/json": "json",
  "*/*": "json",
  "application/*": "json",
};
const OLD_VERSIONS = ["v1beta1", "v2beta1"];

function readOffer(part: string, views: string[]): Offer[] {
  const [type = "", ...rest] = part.split(";").map((piece) => piece.trim());
  const { as, v, q } = Object.fromEntries(rest.map((piece) => piece.split("=") as [string, string])) as {
    as?: string;
    v?: string;
    q?: string;
  };
  const format = FORMATS[type];
  if (!format) return [];
  const quality = q === undefined ? 1 : Number(q);
  if (as === undefined) return [{ format, quality }];
  const isOffered = VIEWS.has(as) && views.includes(as) && !OLD_VERSIONS.includes(v ?? "");
  return isOffered ? [{ format, as, quality }] : [];
}
