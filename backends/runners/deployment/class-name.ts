// The name of the class, as LRPs carry it.
export const DEPLOYMENT_CLASS = "deployment";
