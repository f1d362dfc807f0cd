// Reads what an instance writes to a file, line by line, while it is being written; keeps the file small.
// A file instead of a pipe: the instance goes on writing when the platform restarts, and a reader that is away blocks nobody.
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, watch, type FSWatcher } from "node:fs";
import { lineSplitter } from "../../../telemetry/line-splitter.ts";

/** Once this much has been read the file is emptied. What is in it refills the log rings after a restart. */
const rotateBytes = 1 << 20;
/** A writer this far ahead of us loses what it wrote. */
const maxBacklogBytes = 64 << 20;
const chunkBytes = 64 << 10;
/** Read without giving others a turn. */
const maxReadBytes = 1 << 20;

/** A reader of one growing file. */
export interface Tail {
  /** Reads to the end of the file, hands out a last line without an end, and closes. */
  close(): void;
}

/** Options of `tailFile`. `backlogTime`: nanoseconds for lines that were there before (absent: they are new too). */
export interface TailOptions {
  path: string;
  onLine: (line: string, time?: bigint) => void;
  onDropped: (bytes: number) => void;
}

/** Starts reading from the beginning of the file, which must exist. Lines already in it carry the time of the file's last change. */
export function tailFile({ path, onLine, onDropped }: TailOptions): Tail {
  const fd = openSync(path, "r+");
  const before = fstatSync(fd, { bigint: true });
  const buffer = Buffer.allocUnsafe(chunkBytes);
  const position = { offset: 0, closed: false, scheduled: false };
  const splitter = lineSplitter((line) =>
    onLine(line, position.offset <= Number(before.size) && before.size > 0n ? before.mtimeNs : undefined),
  );

  const readTurn = (limit: number): boolean => {
    for (let done = 0; done < limit;) {
      const bytes = readSync(fd, buffer, 0, chunkBytes, position.offset);
      if (bytes === 0) return true;
      position.offset += bytes;
      done += bytes;
      splitter.write(buffer.subarray(0, bytes));
    }
    return false;
  };
  const keepSmall = (): void => {
    const { size } = fstatSync(fd);
    const unread = size - position.offset;
    // A program may empty the file itself, by opening /dev/stdout anew.
    if (unread < 0) {
      position.offset = 0;
      before.size = 0n;
    } else if (unread > maxBacklogBytes || (unread === 0 && size >= rotateBytes)) {
      ftruncateSync(fd, 0);
      position.offset = 0;
      before.size = 0n;
      if (unread > 0) onDropped(unread);
    }
  };
  const pump = (): void => {
    position.scheduled = false;
    if (position.closed) return;
    keepSmall();
    if (!readTurn(maxReadBytes)) schedule();
    else keepSmall();
  };
  const schedule = (): void => {
    if (position.scheduled || position.closed) return;
    position.scheduled = true;
    setImmediate(pump);
  };
  const stopWatching = watchFile(path, schedule);
  schedule();
  return {
    close() {
      if (position.closed) return;
      readTurn(maxBacklogBytes);
      splitter.flush();
      position.closed = true;
      stopWatching();
      closeSync(fd);
    },
  };
}

/** Calls `onChange` after writes; where the system has no watches left, by the clock. */
function watchFile(path: string, onChange: () => void): () => void {
  const state: { watcher?: FSWatcher; timer?: NodeJS.Timeout } = {};
  const poll = (): void => {
    state.timer ??= setInterval(onChange, 500).unref();
  };
  try {
    state.watcher = watch(path, { persistent: false }, onChange);
    state.watcher.on("error", poll);
  } catch (_error) {
    poll();
  }
  return () => {
    state.watcher?.close();
    clearInterval(state.timer);
  };
}
