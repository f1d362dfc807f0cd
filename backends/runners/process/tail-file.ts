// Reads the lines that an instance writes to a file, as they are written, and keeps the file small.
// A file instead of a pipe: the instance can write while the platform restarts, and a missing reader does not block it.
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, watch, type FSWatcher } from "node:fs";
import { lineSplitter } from "../../../telemetry/line-splitter.ts";

/** After this many bytes the file is emptied. Its content refills the log rings after a restart. */
const rotateBytes = 1 << 20;
/** Unread bytes beyond this are dropped. */
const maxBacklogBytes = 64 << 20;
const chunkBytes = 64 << 10;
/** Bytes read before the event loop gets a turn. */
const maxReadBytes = 1 << 20;

/** A reader of one growing file. */
export interface Tail {
  /** Reads to the end of the file, emits a last line without a line end, and closes. */
  close(): void;
}

/** `time` is given for lines that were in the file at the start, in ns since the epoch. */
export interface TailOptions {
  path: string;
  onLine: (line: string, time?: bigint) => void;
  onDropped: (bytes: number) => void;
}

/** Starts reading at the beginning of the file, which must exist. Lines already in it get the time of the file's last change. */
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
    // A program can empty the file itself, by opening /dev/stdout again.
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

/** Calls `onChange` after writes, or periodically when the system has no inotify watches left. */
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
