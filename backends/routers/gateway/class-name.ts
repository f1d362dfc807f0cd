// The name of the class.

export const GATEWAY_CLASS = "gateway";
