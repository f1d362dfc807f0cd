// The first words of comments: a noun, a verb or an article tells the reader at once what follows; a clause in its place needs a second reading.

/** Only comments that stand on lines of their own; `text` in template strings may begin like one. */
const clauses = /^\s*(?:\/\/|\/\*\*?)\s*(?:What|Who|Of|One)\s.*$/gm;

/** Comments of a text that begin with What, Who, Of or One. */
export function clauseComments(text: string): string[] {
  return [...text.matchAll(clauses)].map((match) => match[0].trim());
}
