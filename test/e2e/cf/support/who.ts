// Users who run cases.

/** The user: `admin`, or a person with one role in the space of the cases (`org-manager`: in its org; `nobody`: without any). */
export const WHO = [
  "admin",
  "developer",
  "supporter",
  "auditor",
  "manager",
  "org-manager",
  "org-auditor",
  "billing-manager",
  "nobody",
] as const;
export type Who = (typeof WHO)[number];
