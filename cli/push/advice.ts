// Advice after a failed build or a crash, by its log: the next step that works, for faults that many people meet. Pure.
import { Failure } from "../failure.ts";
import { quoteForShell } from "../shell-words.ts";

/** A known fault: how its log tells it, and the step. `$1` is what the pattern caught, APP the app's name. */
type Advice = readonly [pattern: RegExp, next: string];

const OF_BUILDS: readonly Advice[] = [
  [
    /NODE_EXTRA_CA_CERTS and SSL_CERT_FILE/,
    "set NODE_EXTRA_CA_CERTS and SSL_CERT_FILE to the file of your company's authority, then: cup local stop && cup local start --detach && cup push APP",
  ],
  [
    /package\.json and package-lock\.json.*(?:in sync|not in sync)|npm ci.*can only install/,
    "npm install, which mends package-lock.json, then: cup push APP",
  ],
  [/ERR_PNPM_OUTDATED_LOCKFILE/, "pnpm install, which mends pnpm-lock.yaml, then: cup push APP"],
  [
    /lockfile (?:would have been|needs to be) (?:modified|updated)|YN0028/,
    "yarn install, which mends yarn.lock, then: cup push APP",
  ],
  [
    /404.*?['\s]((?:@[\w.-]+\/)?[\w.-]+)@\S* is not in|requested resource '((?:@[\w.-]+\/)?[\w.-]+)@/,
    "correct the name of $1 in package.json, then: cup push APP",
  ],
  [/collectstatic .*failed with.*cf set-env APP (\w+) VALUE/, "cup set-env APP $1 VALUE && cup push APP"],
  [
    /Failed to fetch .+ from Google Fonts/,
    "let builds reach fonts.googleapis.com (cup doctor shows their proxies), or take the font from a file (next/font/local); then: cup push APP",
  ],
  [/No matching distribution found for (\S+)/, "correct $1 in requirements.txt, then: cup push APP"],
  [/no required module provides package ([^\s;:]+)/, "go get $1, then: cup push APP"],
  [/missing go\.sum entry|updates to go\.mod needed/, "go mod tidy, then: cup push APP"],
  [/package\.json.*(?:JSON|parse)|EJSONPARSE/i, "correct package.json, then: cup push APP"],
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|Could not resolve host/,
    "cup doctor, which shows the proxies that builds use; then: cup push APP",
  ],
  [
    /buildpack (\S+).*(?:does not exist|cannot (?:be used|use))|cannot use (\S+): it takes/,
    "cup buildpacks lists what there is; then: cup push APP -b NAME",
  ],
  // The builder and its buildpacks know more: what the folder holds, how to get a toolchain.
  [/none of the buildpacks fits the app: .*?Next: (.+?)\. The buildpacks said/, "$1, then: cup push APP"],
  [/is not (?:installed )?on this machine.*?\. ?Next: (.+)/, "$1, then: cup push APP"],
  [
    /NoAppDetected|not successfully detected/,
    "push the folder that holds package.json, a Procfile or the like: cup push APP --path FOLDER",
  ],
  [/more than (?:its )?\d+ MB of disk/, "leave out in .cfignore what the app does not need, then: cup push APP"],
  [
    /more than (?:its )?\d+ MB of memory|InsufficientResources|out of memory|OutOfMemoryError|MemoryError|[Cc]annot allocate memory/,
    "cup push APP -m 2G, which gives the build as much",
  ],
];

const OF_CRASHES: readonly Advice[] = [
  [
    /it listens on port (\d+(?: and \d+)*)/,
    'listen on the port in PORT in place of $1: process.env.PORT, os.environ["PORT"], os.Getenv("PORT"), System.getenv("PORT"); then: cup push APP. Without a port: cup push APP -u process',
  ],
  [
    /it listens on port|never healthy.*connection refused/i,
    'listen on the port in PORT: process.env.PORT, os.environ["PORT"], os.Getenv("PORT"), System.getenv("PORT"); then: cup push APP. Without a port: cup push APP -u process',
  ],
  [/out of memory/, "cup scale APP -m 512M, or make it use less"],
  [/disk quota exceeded/, "cup scale APP -k 2G, or make it write less"],
  [
    /Cannot find (?:module|package) '([^'./][^']*)'/,
    "npm install $1, which adds it to package.json, then: cup push APP",
  ],
  [
    /Cannot find module '(?:[^']*\/app\/)?([^']+)'/,
    "does $1 exist? .cfignore may leave it out; correct the start command or the file, then: cup push APP",
  ],
  [/No module named '?([\w.]+)'?/, "add $1 to requirements.txt, then: cup push APP"],
  [
    /KeyError: '([A-Z][A-Z0-9_]*)'|(?:^|\W)(?:env(?:ironment)? )?variable "?([A-Z][A-Z0-9_]+)"? (?:is )?(?:not set|missing|undefined|required)|(?:^|\s)([A-Z][A-Z0-9_]+) (?:is|must be) (?:not set|missing|set|required|undefined)/,
    "cup set-env APP $1 VALUE && cup restart APP",
  ],
  [/EADDRINUSE|address already in use/i, "listen on the port in PORT, not on one of your own, then: cup push APP"],
  [/(?:SyntaxError|IndentationError)/, "correct the line above, then: cup push APP"],
  [
    /status 127|(?:^|: )(?:\d+: )?[^:\s]+: (?:command )?not found$|command not found/,
    'cup push APP -c "START COMMAND"',
  ],
  [/status 126|Permission denied/, "chmod +x its start program, then: cup push APP"],
  // Output of the build that names the packages to start, and how.
  [/no start command found: .*?BP_NODE_PROJECT_PATH=(\S+)/, "cup set-env APP BP_NODE_PROJECT_PATH $1 && cup push APP"],
  [/no start command found: .*?Next: (.+)/, "$1, then: cup push APP"],
  [/no start command/i, 'cup push APP -c "START COMMAND", or add a Procfile'],
];

/** Refusals of the API, of a manifest or a start. */
const OF_REFUSALS: readonly Advice[] = [
  [/unknown buildpack/i, "cup buildpacks lists what there is; then: cup push APP -b NAME"],
  [/takes docker/, "cup delete APP, then push its source: cup push APP --path FOLDER. Images run on a cluster"],
  [/(?:Memory|Disk).*(?:unit|greater)/i, "cup push APP -m 256M -k 1G"],
  [/quota/i, "delete or scale down what is not needed: cup apps"],
  [/[Rr]oute|[Hh]ost/, "cup routes shows which are taken; cup push APP --random-route takes another"],
];

export interface Fault {
  app: string;
  /** The error of the build, or the details of the crashed instance. */
  message: string;
  /** Last lines of the log. */
  lines: readonly string[];
}

/** A buildpack may name the step itself. */
export function adviseBuild(fault: Fault): string {
  const own = /(?:^|\s)Next: ([^\n]+)$/.exec(fault.message)?.[1];
  return advise(OF_BUILDS, fault) ?? own ?? `correct what the log says, then: cup push ${quoteForShell(fault.app)}`;
}

export function adviseCrash(fault: Fault): string {
  const app = quoteForShell(fault.app);
  return advise(OF_CRASHES, fault) ?? `cup logs ${app} --recent shows more; correct it, then: cup push ${app}`;
}

export function adviseRefusal(fault: Fault): string {
  return advise(OF_REFUSALS, fault) ?? `correct the manifest or the option, then: cup push ${quoteForShell(fault.app)}`;
}

/** The part of the command line that says what is pushed. */
interface NamedSource {
  path?: string;
  manifest?: string | false;
}

/** The same error with `repeatSource` of its next step. */
export function withSource(error: unknown, source: NamedSource): unknown {
  return mapNext(error, (next) => repeatSource(next, source));
}

/** As withSource, of `cup dev`. */
export function withDev(error: unknown, source: NamedSource, { isWatching }: { isWatching: boolean }): unknown {
  return mapNext(error, (next) => repeatSource(toDev(next, isWatching), source));
}

function mapNext(error: unknown, change: (next: string) => string): unknown {
  if (!(error instanceof Failure) || error.next === undefined) return error;
  const next = change(error.next);
  const { kind, log, message, refusal } = error;
  return next === error.next ? error : new Failure(message, { kind, log, next, refusal, cause: error });
}

/** A step of `cup push` for a person who uses `cup dev`. While it watches, it pushes by itself what is saved. Pure. */
export function toDev(next: string, isWatching: boolean): string {
  if (isWatching && ALONE.test(next)) return next.replace(ALONE, "; cup dev pushes what you save");
  const after = next.replace(PUSH, "cup dev ");
  return isWatching && after !== next ? `Ctrl-C, then: ${after}` : after;
}

/** Nothing but the push is left to do: the files are mended. */
const ALONE = /[,;] then: cup push (?!-)(?:'[^']*'|\S)+$/;
const PUSH = /(?<!by hand: )\bcup push /g;

/** The step with the source that the person named: typed without it, the same command would push another folder. */
export function repeatSource(next: string, { path, manifest }: NamedSource): string {
  const given = [
    ...(typeof manifest === "string" ? [`--manifest ${quoteForShell(manifest)}`] : []),
    ...(path === undefined ? [] : [`--path ${quoteForShell(path)}`]),
  ].join(" ");
  return given === "" ? next : next.replaceAll(PUSH_OF_APP, (push) => `${push} ${given}`);
}

/** Without those that name a folder already. The app's name may be quoted. */
const PUSH_OF_APP =
  /\bcup (?:push|dev) (?!-)(?:'[^']*'|\\'|[^\s.,;'\\]|[.,](?!\s|$))+(?! --path)(?=$|\s|[.,;](?:\s|$))/g;

/** A build's error without what stands in its log, and without the next step, which has a line of its own. */
export function shortenBuildError(message: string): string {
  return message
    .replace(/^\w+ - App staging failed in the buildpack \w+ phase: /, "")
    .replace(/^\w+ - An app was not successfully detected by any available buildpack: /, "")
    .replace(/, saying: [^]*$/, "")
    .replace(/[.;]? Next: [^]*$/, "");
}

/** The message counts first, then the newest lines. */
function advise(table: readonly Advice[], { app, message, lines }: Fault): string | undefined {
  for (const text of [message, ...lines.toReversed()]) {
    for (const [pattern, next] of table) {
      const caught =
        pattern
          .exec(text)
          ?.slice(1)
          .find((part) => part !== undefined) ?? "";
      if (pattern.test(text)) return next.replaceAll("APP", () => quoteForShell(app)).replaceAll("$1", () => caught);
    }
  }
  return undefined;
}

/** Meaning of an exit status, for people who do not know them by heart; undefined when the details say it already. */
export function meaningOfExit(details: string): string | undefined {
  const status = /Exited with status (\d+)/.exec(details)?.[1];
  return status === undefined || /out of memory|disk quota/.test(details) ? undefined : MEANINGS[status];
}

const MEANINGS: Readonly<Record<string, string>> = {
  0: "it ended by itself without an error; a web process has to go on and listen on the port in PORT",
  1: "it ended by itself with an error",
  126: "its start command may not be executed",
  127: "its start command was not found",
  134: "it aborted itself (SIGABRT)",
  137: "it was killed (SIGKILL)",
  139: "it touched memory that is not its own (SIGSEGV)",
  143: "something asked it to end (SIGTERM)",
};
