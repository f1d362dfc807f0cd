// Finds fields that a JSON text gives twice: JSON.parse keeps the last one silently, kube-apiserver reports them.
import { endOfString } from "../../../kube/api/json-bounds.ts";

/** As in kube-apiserver: further faults are not reported. */
const MOST_FAULTS = 100;
/** Characters of a path that are shown: each fault repeats it, and a client chooses its keys. */
const MOST_SHOWN = 1_000;

interface Frame {
  path: string;
  isArray: boolean;
  /** Index of the value that is read now. */
  index: number;
  key: string;
  /** Keys seen so far, with whether they were reported; made for the first one. */
  keys?: Map<string, boolean>;
}

const [QUOTE, COMMA] = [0x22, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_MAP, CLOSE_MAP] = [0x5b, 0x5d, 0x7b, 0x7d];

/** `duplicate field "spec.size"` for each field, however often it comes; `parsed` is what the text, valid JSON, says. Linear in the text. */
export function duplicateFields(text: string, parsed: unknown): string[] {
  // Compact JSON comes out unchanged, unless a field was lost.
  return JSON.stringify(parsed) === text ? [] : findDuplicates(text);
}

function findDuplicates(text: string): string[] {
  const faults: string[] = [];
  const frames: Frame[] = [];
  let isKey = false;
  for (let at = 0; at < text.length && faults.length < MOST_FAULTS; at++) {
    const mark = text.charCodeAt(at);
    if (mark === QUOTE) {
      const end = endOfString(text, at);
      const frame = frames.at(-1);
      if (isKey && frame) noteKey(frame, keyIn(text, at, end), faults);
      isKey = false;
      at = end;
    } else isKey = follow(frames, mark) ?? isKey;
  }
  return faults;
}

/** Opens, closes or goes on in a list or map. @returns whether a key comes next; undefined where nothing changed */
function follow(frames: Frame[], mark: number): boolean | undefined {
  if (mark === OPEN_MAP || mark === OPEN_LIST) {
    frames.push({ path: pathOf(frames.at(-1)), isArray: mark === OPEN_LIST, index: 0, key: "" });
    return mark === OPEN_MAP;
  }
  if (mark === CLOSE_MAP || mark === CLOSE_LIST) frames.pop();
  if (mark !== COMMA) return undefined;
  const frame = frames.at(-1);
  if (frame) frame.index += 1;
  return frame?.isArray === false;
}

function keyIn(text: string, start: number, end: number): string {
  const key = text.slice(start + 1, end);
  return key.includes("\\") ? (JSON.parse(`"${key}"`) as string) : key;
}

function noteKey(frame: Frame, key: string, faults: string[]): void {
  frame.key = key;
  frame.keys ??= new Map();
  const isReported = frame.keys.get(key);
  if (isReported === false) faults.push(`duplicate field ${JSON.stringify(pathOf(frame))}`);
  frame.keys.set(key, isReported !== undefined);
}

/** The path of the value that is read now, cut where it is long. */
function pathOf(frame: Frame | undefined): string {
  if (!frame) return "";
  const { path, key } = frame;
  if (path.length > MOST_SHOWN) return path;
  const step = frame.isArray ? `[${frame.index}]` : path ? `.${key}` : key;
  const whole = path + step;
  return whole.length > MOST_SHOWN ? `${whole.slice(0, MOST_SHOWN)}…` : whole;
}
