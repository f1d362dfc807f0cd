// The parts of the recorded cases that `npm test` and `npm run test:all` send again.
import { createEndpoints } from "../../../api/endpoints.ts";
import type { Services } from "../../../api/routing/services.ts";
import { namesOfCasesAlone } from "./case-names.ts";
import { chooseCases, kindWriter, type KindOf } from "./choose-cases.ts";
import { readReplay, type Replay } from "./replay-file.ts";

/** Features of an exchange, by the endpoints of the API. */
export function kindOfExchange(): KindOf {
  return kindWriter(createEndpoints({} as Services));
}

/** All that run alone are in it: they change what all share, and some find it as one before them left it. `fewest` is what `npm test` sends. */
export function chosenReplay({ fewest }: { fewest: boolean }): Replay {
  const { cases, uploads } = readReplay();
  const alone = namesOfCasesAlone();
  return { cases: chooseCases(cases, kindOfExchange(), { isNeeded: ({ name }) => alone.has(name), fewest }), uploads };
}
