// The contract of a store of droplets that are images. registry/images/ implements it; nothing here does I/O.
import type { Readable } from "node:stream";

/** An image of a space. One that is not in the space's own part of the platform's registry is none of the store's, whoever names it. */
export interface SpaceImage {
  space: string;
  /** By reference. */
  image: string;
}

export interface ImageStore {
  /**
   * The app and its layers as a tar.gz with `app/` and `layers/`, made while it is read; undefined for an image that is none of the store's.
   * @throws ImageNotFound; what fails later destroys the stream
   */
  openDroplet(image: SpaceImage): Promise<Readable | undefined>;
  /**
   * Gives another app, of any space, the image, and returns its reference there. One that is none of the store's stays where it is.
   * @throws ImageNotFound
   */
  copyDroplet(image: SpaceImage, to: { space: string; app: string; droplet: string }): Promise<string>;
}
