// What form the caller wants the answer in.
import { type IncomingMessage } from "node:http";
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
  const offers = header.split(",").flatMap((part) => readOffer(part, views)).sort((a, b) => b.quality - a.quality);
  const best = offers[0];
  if (!best) throw notAcceptable(ACCEPTED.slice(0, 2));
  return { format: best.format, ...(best.as && { as: best.as }) };
}

function readOffer(part: string, views: string[]): Offer[] {
  const [type = "", ...rest] = part.split(";").map((piece) => piece.trim());
  const parameters = Object.fromEntries(rest.map((piece) => piece.split("=") as [string, string]));
  const format = type === "application/yaml" || type === "text/yaml" ? "yaml" : ["application/json", "*/*", "application/*"].includes(type) ? "json" : undefined;
  if (!format) return [];
  const quality = parameters.q === undefined ? 1 : Number(parameters.q);
  const as = parameters.as;
  if (as === undefined) return [{ format, quality }];
  if (!VIEWS.has(as) || !views.includes(as) || (parameters.v === "v1beta1" || parameters.v === "v2beta1")) return [];
  return [{ format, as, quality }];
}
