// What `include=` adds to an answer: spaces, orgs, domains and users, each once, presented as ever, and only those the caller sees.
import { Org } from "../crds/org/org.ts";
import { Space } from "../crds/space/space.ts";
import { presentOrg } from "./org/present.ts";
import type { Session } from "./session.ts";
import { presentSpace } from "./space/present.ts";

/** The namespaces' spaces, for `include=space`; with `withOrgs` their orgs as well, for `include=space.organization`. */
export function includedSpaces(as: Session, base: string, namespaces: Iterable<string | undefined>, withOrgs: boolean): { spaces: object[]; organizations?: object[] } {
  const spaces = [...new Set(namespaces)].flatMap((namespace) => as.view.spaceOf(namespace) ?? []).filter((space) => as.sees(Space, space));
  return {
    spaces: spaces.map((space) => JSON.parse(presentSpace(as.view, space, base)) as object),
    ...(withOrgs && { organizations: includedOrgs(as, base, spaces.map((space) => space.metadata.namespace)) }),
  };
}

/** The orgs that own these org namespaces. */
export function includedOrgs(as: Session, base: string, namespaces: Iterable<string | undefined>): object[] {
  const orgs = [...new Set(namespaces)].flatMap((namespace) => as.view.orgOf(namespace) ?? []);
  return orgs.filter((org) => as.sees(Org, org)).map((org) => JSON.parse(presentOrg(as.view, org, base)) as object);
}

