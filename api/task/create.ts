// Creates a task: its droplet, its template, and its number, which no other task of the app has.
import pLimit, { type LimitFunction } from "p-limit";
import type { App } from "../../crds/app/app.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { newGUID } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import { nextSequence, taskObjectName } from "../../crds/task/sequence.ts";
import { Task } from "../../crds/task/task.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { Session } from "../access/session.ts";
import { currentDroplet, requireStaged } from "../cf/app/current-droplet.ts";
import { appKey, appOwnerReferences } from "../cf/app/owner-app.ts";
import { metadataForCreate } from "../http/metadata.ts";
import { getProcess } from "../cf/process/processes.ts";
import { requireTaskQuota } from "../cf/quota/check.ts";
import { CFError, notFound, unprocessable } from "../http/errors.ts";
import { toTaskSpec, type CreateTaskBody, type TaskTemplate } from "./payload.ts";

/** Numbers tried before giving up, when other replicas take them first. */
const MAX_ATTEMPTS = 100;

/** @throws CFError 404 for a droplet or process that does not exist, 422 without a droplet or command */
export async function createTask(session: Session, app: App, body: CreateTaskBody): Promise<Task> {
  const droplet = chooseDroplet(session, app, body.droplet_guid);
  const spec = toTaskSpec(body, body.template ? findTemplate(session, droplet, body.template.process.guid) : undefined);
  if (spec["command"] === undefined) throw unprocessable("command is not present");
  const { memoryMB, logRateLimitBytesPerSecond } = Task.spec.parse({
    ...spec,
    appRef: { name: app.metadata.name },
  }) as Task["spec"];
  requireTaskQuota(session, app.metadata.namespace ?? "", { memoryMB, logRateLimitBytesPerSecond });
  const guid = newGUID();
  const { labels, annotations } = metadataForCreate(body.metadata);
  return await createNumbered(session, app, (sequenceID) => ({
    metadata: {
      name: taskObjectName(app.metadata.name, sequenceID),
      namespace: app.metadata.namespace,
      labels: { ...labels, [LABELS.guid]: guid },
      annotations,
      ownerReferences: appOwnerReferences(app),
    },
    spec: {
      ...spec,
      appRef: { name: app.metadata.name },
      name: body.name ?? guid.slice(-8),
      dropletRef: { name: droplet.metadata.name },
    },
  }));
}

function chooseDroplet(session: Session, app: App, guid: string | null | undefined): Droplet {
  if (guid === null || guid === undefined) {
    const current = currentDroplet(session.cache, app);
    if (!current) throw unprocessable("Task must have a droplet. Specify droplet or assign current droplet to app.");
    return current;
  }
  const droplet = session.find(Droplet, guid);
  const isOfApp =
    droplet?.metadata.namespace === app.metadata.namespace && droplet?.spec.appRef.name === app.metadata.name;
  if (!droplet || !isOfApp) throw notFound("Droplet");
  return requireStaged(droplet);
}

function findTemplate(session: Session, droplet: Droplet, guid: string): TaskTemplate {
  const process = findProcess(session, guid);
  const detected = droplet.spec.processTypes;
  const { type } = process.spec;
  return {
    spec: process.spec,
    command: process.spec.command ?? (Object.hasOwn(detected, type) ? detected[type] || undefined : undefined),
  };
}

function findProcess(session: Session, guid: string): ReturnType<typeof getProcess> {
  try {
    return getProcess(session, guid);
  } catch (error) {
    if (error instanceof CFError && error.key === "ResourceNotFound") throw new CFError("ProcessNotFound", guid);
    throw error;
  }
}

/** Creates an app's tasks one after the other: otherwise all of a burst would try the same number. */
const turns = new WeakMap<object, Map<string, LimitFunction>>();

async function createNumbered(session: Session, app: App, draft: (sequenceID: number) => Draft): Promise<Task> {
  const byApp = turns.get(session.cache) ?? new Map<string, LimitFunction>();
  turns.set(session.cache, byApp);
  const key = app.metadata.uid ?? "";
  const turn = byApp.get(key) ?? pLimit(1);
  byApp.set(key, turn);
  try {
    return await turn(() => createWithFreeNumber(session, app, draft));
  } finally {
    if (turn.activeCount === 0 && turn.pendingCount === 0) byApp.delete(key);
  }
}

async function createWithFreeNumber(session: Session, app: App, draft: (sequenceID: number) => Draft): Promise<Task> {
  const tasks = session.cache.store(Task).byIndex("app", appKey(app));
  let sequenceID = nextSequence([...tasks]);
  for (let attempt = 1; ; attempt++, sequenceID++) {
    try {
      return await session.create(Task, draft(sequenceID), numberTaken);
    } catch (error) {
      // Another replica's task, which this one has not observed yet, has the number.
      if (!(error instanceof CFError && error.key === "UniquenessError") || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

function numberTaken(): CFError {
  return new CFError("UniquenessError", "The app gets many tasks at once, and this one got no number. Try again.");
}
