// Quotes a word for a POSIX shell.

export function singleQuote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
