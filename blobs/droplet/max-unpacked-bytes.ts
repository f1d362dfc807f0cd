// The largest size of a droplet's files, wherever they are unpacked.
export const MAX_UNPACKED_BYTES = 16 * 2 ** 30;
