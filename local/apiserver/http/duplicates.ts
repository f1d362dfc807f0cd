// Finds fields that a JSON text gives twice: JSON.parse keeps the last one silently, kube-apiserver reports them.

interface Frame {
  path: string;
  /** Keys seen so far; undefined in an array. */
  keys?: Set<string>;
  index: number;
  key: string;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

/** `duplicate field "spec.size"` for each field, however often it comes; `parsed` is what the text, valid JSON, says. */
export function duplicateFields(text: string, parsed: unknown): string[] {
  // What clients write compactly comes out as it was, unless a field was lost.
  return JSON.stringify(parsed) === text ? [] : findDuplicates(text);
}

function findDuplicates(text: string): string[] {
  const faults = new Set<string>();
  const frames: Frame[] = [];
  let isKey = false;
  const at = () => {
    const frame = frames.at(-1);
    if (!frame) return "";
    if (!frame.keys) return `${frame.path}[${frame.index}]`;
    return frame.path ? `${frame.path}.${frame.key}` : frame.key;
  };
  const onString = (token: string) => {
    const frame = frames.at(-1);
    if (!isKey || !frame?.keys) return;
    frame.key = JSON.parse(token) as string;
    isKey = false;
    if (frame.keys.has(frame.key)) faults.add(`duplicate field ${JSON.stringify(at())}`);
    frame.keys.add(frame.key);
  };
  const onMark: Record<string, () => void> = {
    "{": () => {
      frames.push({ path: at(), keys: new Set(), index: 0, key: "" });
      isKey = true;
    },
    "[": () => {
      frames.push({ path: at(), index: 0, key: "" });
      isKey = false;
    },
    "}": () => void frames.pop(),
    "]": () => void frames.pop(),
    ",": () => {
      const frame = frames.at(-1);
      if (frame) frame.index += 1;
      isKey = frame?.keys !== undefined;
    },
  };
  for (const [token] of text.matchAll(TOKEN)) (onMark[token] ?? (() => onString(token)))();
  return [...faults];
}
