// Stands in for auth/ until it is there: static tokens, everything allowed.
import { type Auth, type AuthDeps } from "./contract.ts";
import { unauthorized } from "./status.ts";

export function createAuth({ tokens }: AuthDeps): Promise<Auth> {
  return Promise.resolve({
    authenticate({ authorization }) {
      if (!authorization) return { name: "system:anonymous", groups: ["system:unauthenticated"] };
      const user = tokens.get(authorization.replace(/^Bearer /i, ""));
      if (!user) throw unauthorized();
      return { ...user, groups: [...user.groups, "system:authenticated"] };
    },
    authorize: () => ({ allowed: true, reason: "" }),
    checkRbacWrite: () => {},
    virtualResources: [],
    bootstrap: () => Promise.resolve(),
    stop: () => {},
  });
}
