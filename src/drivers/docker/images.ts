/** Owns the images of ours on a daemon. */
import { ServiceError } from '../../lib/errors.ts';
import type { Images } from '../driver.ts';

const notHere = (): Promise<never> =>
  Promise.reject(new ServiceError('IMAGE_BUILD_FAILED', 'Images cannot be made here.'));

export const dockerImages: Images = { build: notHere, pull: notHere, keep: notHere };
