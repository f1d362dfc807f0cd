// The query parameter `fields[…]`: which members of related resources `included` is to show.
import { csv } from "./query.ts";

/** `fields[name]=a,b`. */
export function fields<const Word extends string>(name: string, ...words: readonly Word[]) {
  const isKnown = (word: string): word is Word => (words as readonly string[]).includes(word);
  return csv
    .transform((list, context): Word[] => {
      if (!list.every(isKnown))
        context.addIssue({
          code: "custom",
          message: `Fields[${name}]: valid keys are: ${words.map((word) => `'${word}'`).join(", ")}`,
          params: { whole: true },
        });
      return list.filter(isKnown);
    })
    .optional();
}

/** Those members of an object that were asked for. */
export function pickFields(values: Readonly<Record<string, unknown>>, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
}
