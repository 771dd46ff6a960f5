/** Owns the settings as they are when they are read: whether apps are reached over HTTPS is seen in the store. */
import { hasAppsCertificate } from '../actors/edge/apps-certificate.ts';
import type { GraphqlSettings, ReadSide } from './context.ts';

/** Settings that differ are two objects, and the same are one: texts are kept for each. */
export function readSide(read: Omit<ReadSide, 'settings'>, given: GraphqlSettings): ReadSide {
  const secure: GraphqlSettings = { ...given, hasAppsCertificate: true };
  return {
    ...read,
    get settings() {
      return hasAppsCertificate(read.reader, given.appsWildcard) ? secure : given;
    },
  };
}
