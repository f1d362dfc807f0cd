// Constant traffic of clients of the CF API: every write is read back at once, wherever the balancer sends the read. Failures and stale answers are kept.
import { setTimeout as delay } from "node:timers/promises";
import type { Api, ApiAnswer, Named, Page } from "../support/api.ts";

export interface Traffic {
  /** Requests so far. */
  requests(): number;
  /** Refused and broken requests, in words. */
  readonly failed: readonly string[];
  /** Reads that did not show a write that had been answered before, in words. */
  readonly stale: readonly string[];
  stop(): Promise<void>;
}

export interface TrafficOptions {
  /** Each request may go to another replica. */
  api: Api;
  /** The same, with another user's identity. */
  guest: Api;
  guestName: string;
  /** GUID of a space for apps. */
  space: string;
  /** GUIDs of a space in which the guest has no role, and of an app in it. */
  closed: { space: string; app: string };
  clients: number;
}

/** Starts the clients. */
export function startTraffic(options: TrafficOptions): Traffic {
  const state: State = { ...options, count: 0, failed: [], stale: [], over: false };
  const running = [
    ...Array.from({ length: options.clients }, (_, client) =>
      until(state, (round) => exerciseApp(state, `rolling-${client}-${round}`)),
    ),
    until(state, () => exerciseRole(state)),
    until(state, () => lists(state)),
  ];
  return {
    requests: () => state.count,
    failed: state.failed,
    stale: state.stale,
    async stop() {
      state.over = true;
      await Promise.all(running);
    },
  };
}

type State = TrafficOptions & { count: number; failed: string[]; stale: string[]; over: boolean };

async function until(state: State, round: (number: number) => Promise<void>): Promise<void> {
  for (let number = 0; !state.over; number++) {
    await round(number);
    await delay(20);
  }
}

/** Undefined when it failed; that is noted. */
async function sendRequest(
  state: State,
  good: readonly number[],
  ...[method, path, body]: Parameters<Api["send"]>
): Promise<ApiAnswer | undefined> {
  state.count++;
  try {
    const answer = await state.api.send(method, path, body);
    if (good.includes(answer.status)) return answer;
    state.failed.push(`${new Date().toISOString()} ${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
  } catch (error) {
    state.failed.push(`${method} ${path}: ${String(error)} ${String((error as Error).cause ?? "")}`);
  }
  return undefined;
}

function recordRead(state: State, what: string, isFresh: boolean): void {
  if (!isFresh) state.stale.push(`${new Date().toISOString()} ${what}`);
}

/** Create, read by GUID, read by name, change, read, delete, read. */
async function exerciseApp(state: State, name: string): Promise<void> {
  const made = await sendRequest(state, [201], "POST", "/v3/apps", {
    name,
    relationships: { space: { data: { guid: state.space } } },
  });
  if (!made) return;
  const { guid } = JSON.parse(made.text) as Named;
  const path = `/v3/apps/${guid}`;
  const [one, list] = await Promise.all([
    sendRequest(state, [200, 404], "GET", path),
    sendRequest(state, [200], "GET", `/v3/apps?names=${name}`),
  ]);
  if (one) recordRead(state, `${name} is not there after it was created`, one.status === 200);
  if (list)
    recordRead(
      state,
      `${name} is not listed after it was created`,
      (JSON.parse(list.text) as Page<Named>).resources.length === 1,
    );
  if (await sendRequest(state, [200], "PATCH", path, { metadata: { labels: { round: name } } })) {
    const changed = await sendRequest(state, [200], "GET", path);
    if (changed)
      recordRead(state, `${name} has not its label after it was set`, changed.text.includes(`"round":"${name}"`));
  }
  const deleted = await sendRequest(state, [202], "DELETE", path);
  if (!deleted) return;
  const job = String(deleted.headers["location"]).replace(/^https?:\/\/[^/]+/, "");
  await Promise.all([
    // Whatever replica is asked knows the job.
    sendRequest(state, [200], "GET", job),
    untilGone(state, name, path),
  ]);
}

/** An app that waits for its finalizers is still there, in every replica; once it is away it stays away. */
async function untilGone(state: State, name: string, path: string): Promise<void> {
  for (let wentAt: number | undefined, tries = 0; tries < 500; tries++) {
    const answer = await sendRequest(state, [200, 404], "GET", path);
    if (!answer) return;
    if (answer.status === 404) wentAt ??= tries;
    else recordRead(state, `${name} is there again after it was gone`, wentAt === undefined);
    if (wentAt !== undefined && tries - wentAt > 2) return;
    if (wentAt === undefined) await delay(20);
  }
  state.failed.push(`${name} is not deleted`);
}

/** A role is given and taken; in between its holder sees the app there, and only then, wherever asked. */
async function exerciseRole(state: State): Promise<void> {
  const [user, space] = [state.guestName, state.closed.space].map((guid) => ({ data: { guid } }));
  const given = await sendRequest(state, [201], "POST", "/v3/roles", {
    type: "space_auditor",
    relationships: { user, space },
  });
  if (!given) return;
  recordRead(state, "a role does not count after it was given", (await readAsGuest(state)) ?? true);
  const { guid } = JSON.parse(given.text) as Named;
  if (!(await sendRequest(state, [202], "DELETE", `/v3/roles/${guid}`))) return;
  recordRead(state, "a role counts after it was taken", !((await readAsGuest(state)) ?? false));
}

async function readAsGuest(state: State): Promise<boolean | undefined> {
  const answer = await sendRequest({ ...state, api: state.guest }, [200, 404], "GET", `/v3/apps/${state.closed.app}`);
  return answer && answer.status === 200;
}

async function lists(state: State): Promise<void> {
  for (const path of [
    "/v3/apps?per_page=10",
    "/v3/organizations",
    "/v3/spaces",
    "/v3/domains",
    "/v3/info",
    `/v3/spaces/${state.space}`,
  ])
    await sendRequest(state, [200], "GET", path);
}
