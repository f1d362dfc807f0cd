// Loaded before the program in a child process of a test: it ends with the test, kill -9 included, when the pipe to it closes.
process.stdin.on("close", () => process.exit(1)).resume();
// The pipe alone keeps nothing running.
(process.stdin as unknown as { unref(): void }).unref();
