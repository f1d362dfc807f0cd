// Text of somebody else's, fit for a condition, an event and a terminal: bounded, and without control characters and halves of characters. Pure.

/** Control characters but for tabs and ends of lines, and those that turn the direction of text. */
const UNPRINTABLE = /[^\P{Cc}\t\n]|[\u202a-\u202e\u2066-\u2069]/gu;

export function toPlainWords(text: string, most: number): string {
  return text.slice(0, most).toWellFormed().replace(UNPRINTABLE, " ");
}
