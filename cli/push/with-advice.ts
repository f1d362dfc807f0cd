// A refusal of the API gets its next step: the one place for `cup push` and `cup scale`.
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { lacksRole } from "../missing-role.ts";
import { toQuotaFailure, type Asked } from "../quota/with-quota-advice.ts";
import { adviseRefusal } from "./advice.ts";

/** @throws Failure with the next step */
export async function withAdvice<T>(context: Context, asked: Asked, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== "failed" || error.next !== undefined || lacksRole(error))
      throw error;
    throw (await toQuotaFailure(context, asked, error)) ?? advise(asked, error);
  }
}

function advise({ app }: Asked, error: Failure): Failure {
  const { message, refusal } = error;
  return new Failure(message, { next: adviseRefusal({ app, message, lines: [] }), refusal, cause: error });
}
