// The part of the recorded cases that is sent again in every run.
import { createEndpoints } from "../../../api/endpoints.ts";
import type { Services } from "../../../api/routing/services.ts";
import { namesOfCasesAlone } from "./case-names.ts";
import { chooseCases, kindWriter, type KindOf } from "./choose-cases.ts";
import { readReplay, type Replay } from "./replay-file.ts";

/** Features of an exchange, by the endpoints of the API. */
export function kindOfExchange(): KindOf {
  return kindWriter(createEndpoints({} as Services));
}

/** All that run alone are in it: they change what all share, and some find it as one before them left it. */
export function chosenReplay(): Replay {
  const { cases, uploads } = readReplay();
  const alone = namesOfCasesAlone();
  return { cases: chooseCases(cases, kindOfExchange(), ({ name }) => alone.has(name)), uploads };
}
