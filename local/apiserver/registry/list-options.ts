// The options of list, watch and deletecollection: refuses invalid numbers and contradictions.
import type { FieldError } from "../types.ts";
import { forbiddenField, notSupported } from "../field-errors.ts";
import { badRequest, invalid } from "../status.ts";

const NUMBERS = ["limit", "timeoutSeconds"];

/** Throws 400 on unreadable options, 422 on options that contradict each other. */
export function checkListOptions(query: URLSearchParams, isWatch: boolean): void {
  for (const name of NUMBERS) {
    const value = query.get(name) ?? "";
    if (value !== "" && !/^[-+]?\d+$/.test(value))
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  }
  const errors = isWatch ? watchErrors(query) : listErrors(query);
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", errors);
}

/** True for every value except `0` and `false`, as Kubernetes reads queries. Undefined when absent. */
export function flagOf(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  return value === null ? undefined : !["false", "0"].includes(value.toLowerCase());
}

const MATCH = "resourceVersionMatch";

function listErrors(query: URLSearchParams): FieldError[] {
  const errors = matchErrors(query);
  return query.get("sendInitialEvents") === null
    ? errors
    : [...errors, forbiddenField("sendInitialEvents", "sendInitialEvents is forbidden for list")];
}

function matchErrors(query: URLSearchParams): FieldError[] {
  const match = query.get(MATCH);
  const version = query.get("resourceVersion") ?? "";
  if (!match) return [];
  const errors: FieldError[] = [];
  if (version === "")
    errors.push(forbiddenField(MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
  if (query.get("continue"))
    errors.push(forbiddenField(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
  if (!["Exact", "NotOlderThan"].includes(match))
    errors.push(notSupported(MATCH, match, ["Exact", "NotOlderThan", ""]));
  if (match === "Exact" && version === "0")
    errors.push(forbiddenField(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  return errors;
}

function watchErrors(query: URLSearchParams): FieldError[] {
  const match = query.get(MATCH) ?? "";
  const initial = query.get("sendInitialEvents") !== null;
  const errors: FieldError[] = [];
  if (initial && match !== "NotOlderThan")
    errors.push(forbiddenField(MATCH, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  if (match === "") return errors;
  if (!initial)
    errors.push(
      forbiddenField(MATCH, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"),
    );
  if (match !== "NotOlderThan") errors.push(notSupported(MATCH, match, ["NotOlderThan"]));
  if (query.get("continue"))
    errors.push(forbiddenField(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
  return errors;
}
