// Splits a stream of bytes into lines, independent of chunk boundaries. Overlong lines are emitted in pieces.
import { StringDecoder } from "node:string_decoder";

/** Takes chunks and emits lines without LF or CRLF, blank lines included. */
export interface LineSplitter {
  write(chunk: Uint8Array): void;
  /** Emits the rest that has no line end. */
  flush(): void;
}

/** Makes a splitter that calls `onLine` for every line, at most `maxLength` characters each. */
export function lineSplitter(onLine: (line: string) => void, maxLength = 61_440): LineSplitter {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  const emit = (line: string): void => onLine(line.endsWith("\r") ? line.slice(0, -1) : line);
  return {
    write(chunk) {
      const text = rest + decoder.write(chunk);
      let start = 0;
      for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
        for (; end - start > maxLength; start += maxLength) emit(text.slice(start, start + maxLength));
        emit(text.slice(start, end));
        start = end + 1;
      }
      for (; text.length - start >= maxLength; start += maxLength) emit(text.slice(start, start + maxLength));
      rest = text.slice(start);
    },
    flush() {
      const text = rest + decoder.end();
      rest = "";
      if (text !== "") emit(text);
    },
  };
}
