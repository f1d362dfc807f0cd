// The org that `cup export --org` means. Pure.
import { Failure } from "../failure.ts";

export interface OrgPlace {
  /** Object name. */
  name: string;
  namespace: string | undefined;
  /** The CF name in its spec, which another org may hold. */
  asked: string;
  /** The CF name that it holds. */
  held: string | undefined;
}

/** The org that holds the name; without one the only org that asks for it, and holds none. @throws Failure */
export function chooseOrg(orgs: readonly OrgPlace[], wanted: string): OrgPlace {
  const holders = orgs.filter(({ held }) => held === wanted);
  const found = holders.length > 0 ? holders : orgs.filter(({ held, asked }) => held === undefined && asked === wanted);
  const [only, ...others] = found;
  if (!only) throw new Failure(`there is no org ${wanted}`, { next: "cup orgs" });
  if (others.length === 0) return only;
  throw new Failure(`${found.length} orgs ask for the name ${wanted}: ${found.map(({ name }) => name).join(", ")}`, {
    next: "kubectl get orgs; delete the others, or give them another spec.name, and export again",
  });
}
