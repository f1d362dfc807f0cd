// Deployments of an app in cases, and waiting for them.
import { expect } from "vitest";
import { eventually } from "../../../eventually.ts";
import type { Page } from "../../support/api.ts";
import { findApp } from "./apps.ts";
import type { CaseRun } from "./case.ts";

export const DEPLOY_MS = 90_000;

export interface Deployment {
  guid: string;
  status: { value: string; reason: string; canary?: { steps: { current: number; total: number } } };
  strategy: string;
  options: Record<string, unknown>;
}

export async function deploymentsOf(run: CaseRun): Promise<Deployment[]> {
  const path = `/v3/deployments?app_guids=${(await findApp(run.ground, run.name))?.guid}&order_by=-created_at`;
  return (await run.ground.api.admin.call<Page<Deployment>>("GET", path)).resources;
}

/** The newest deployment, once it has that status. */
export async function untilDeployment(run: CaseRun, wanted: object): Promise<void> {
  await eventually(async () => expect((await deploymentsOf(run))[0]).toMatchObject(wanted), DEPLOY_MS);
}

export const DEPLOYED = { status: { value: "FINALIZED", reason: "DEPLOYED" } };
export const PAUSED = { status: { value: "ACTIVE", reason: "PAUSED" } };
