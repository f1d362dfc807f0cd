// The endpoints of CAPI 3.228.0 that this platform has: what each accepts, and which roles may use it. endpoints.json holds the facts.
import { readFileSync } from "node:fs";

/** An endpoint of CAPI. Lists of words are one text with spaces. */
export interface CAPIEndpoint {
  status: number | number[];
  /** It has the parameters of every list: paging, order_by, guids, created_ats, updated_ats. */
  list?: true;
  /** Other parameters of the query. */
  query?: string;
  /** Values of order_by; of a list, besides created_at and updated_at. */
  order_by?: string;
  include?: string;
  /** Dotted paths in the body of a request. */
  body?: string;
  /** Roles that get the status. */
  roles: string;
  /** Those of them from whom parts of the answer are hidden. */
  hidden?: string;
}

/** By method and path, as in the endpoint table. */
export const capiEndpoints = JSON.parse(readFileSync(new URL("endpoints.json", import.meta.url), "utf8")) as Readonly<
  Record<string, CAPIEndpoint>
>;

export const wordsOf = (text: string | undefined): string[] => (text === undefined ? [] : text.split(" "));
