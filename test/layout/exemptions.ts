// Files longer than 300 lines, each with the reason why it is one thing. 500 is the end for everybody.

export const longFiles: Record<string, string> = {};
