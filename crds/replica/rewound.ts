// The end of a process whose cluster went back to an earlier state.

/** Its exit code, by which `cup doctor --cluster` knows it. */
export const REWOUND_EXIT_CODE = 86;
