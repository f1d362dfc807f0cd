// Text as a terminal may have it: what others wrote (names, commands, values, logs) must not move the cursor, set the title or the clipboard, or forge a line.

/** C0 without tab and line feed, DEL, C1, and the characters that turn the direction of text. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
/** A colour or weight, as `cup` itself sends them, but for the one that hides text. */
const COLOUR = /(\u001b\[(?!(?:0;)?8[;m])[\d;]{0,20}m)/;
const RESET = "\u001b[0m";

/** A control character as `cat -v` shows it, and one beyond ASCII by its number. */
function show(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return `^${String.fromCharCode(code + 0x40)}`;
  return code === 0x7f ? "^?" : escapeUnicode(character);
}

function escapeUnicode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The text of a cell: a line without any control character. */
export function toCell(text: string): string {
  return text.replaceAll("\n", "\\n").replaceAll("\t", " ").replace(CONTROLS, show);
}

/** Lines with tabs and colours. Colours end with their line, and other control characters are shown as text. */
export function toLines(text: string): string {
  return text.split("\n").map(toLine).join("\n");
}

function toLine(line: string): string {
  // Every second part is a colour.
  const parts = line.replace(/\r+$/, "").split(COLOUR);
  const shown = parts.map((part, at) => (at % 2 === 1 ? part : part.replace(CONTROLS, show))).join("");
  return parts.length > 1 ? `${shown}${RESET}` : shown;
}

/** JSON without a character that a terminal acts on: JSON.stringify leaves those beyond ASCII. */
export function toJsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(CONTROLS, escapeUnicode);
}
