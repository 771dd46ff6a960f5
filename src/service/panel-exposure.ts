/**
 * Owns what apps and browsers may do to the panel's cookies. A cookie belongs to a host, whatever the port:
 * browsers send the panel's cookie to an app under the panel's host name.
 *
 * 1. A warning of that is shown when the driver does not hide apps, unless the panel is on https, at the edge or behind
 *    a trusted proxy. Its cookie is then `Secure`, and browsers send it over plain http only to names of
 *    their own machine.
 * 2. Whether they are hidden is asked again of each place where apps run: another runner may have other layers.
 */
import { isIP } from 'node:net';
import type { Driver } from '../drivers/driver.ts';
import type { Logger } from '../lib/log.ts';

export interface PanelExposureOptions {
  driver: Pick<Driver, 'hidesApps' | 'watch'>;
  publicUrl: () => string;
  /** Whether there is who may say that a request came over https: trusted proxies, or the edge. */
  trustsProxies: boolean;
  logger: Logger;
}

export const exposureWarning =
  'Apps can be reached under the host name of this panel, each at a port of its own, and browsers ' +
  'send the cookie of the panel to every port. Whoever is signed in here and opens such an address ' +
  'of a hostile app hands it the session. The ways out: serve the panel over https under a name of ' +
  'its own (GANGWAY_PUBLIC_URL, with GANGWAY_EDGE_PANEL or GANGWAY_TRUSTED_PROXIES), or give each app a network of its own, as ' +
  'the process runtime does where it runs as root on Linux with iproute2 and iptables, and a Docker ' +
  'daemon of this machine does.';

export class PanelExposure {
  readonly #options: PanelExposureOptions;
  /** Null: not known yet. */
  #isHidden: boolean | null;
  /** Whether the log has the warning that holds now. */
  #isTold = false;

  constructor(options: PanelExposureOptions) {
    this.#options = options;
    this.#isHidden = options.driver.hidesApps === undefined ? false : null;
  }

  /** From now on the log has the warning, whenever it is known that there is one. */
  start(): void {
    this.#options.driver.watch(({ type }) => {
      if (type === 'connected') void this.#look();
    });
    void this.#look();
  }

  /** The warning for the person who sets up the panel; null when there is none, or it is not known yet. */
  warning(): string | null {
    if (this.#isHidden !== false) return null;
    const { publicUrl, trustsProxies } = this.#options;
    return trustsProxies && keepsCookie(publicUrl()) ? null : exposureWarning;
  }

  async #look(): Promise<void> {
    const { driver, logger, publicUrl } = this.#options;
    try {
      this.#isHidden = (await driver.hidesApps?.()) ?? false;
    } catch (error) {
      logger.debug({ err: error }, 'panel_exposure_unknown');
      return;
    }
    const detail = this.warning();
    if (detail !== null && !this.#isTold) {
      logger.warn({ panel: publicUrl(), detail }, 'panel_cookie_reaches_apps');
    }
    this.#isTold = detail !== null;
  }
}

/** Whether browsers keep the panel's cookie from plain http. They treat loopback as safe as https. */
function keepsCookie(publicUrl: string): boolean {
  const { protocol, hostname } = new URL(publicUrl);
  const isLocal = /^(localhost|.+\.localhost|127\..+|\[::1\])$/.test(hostname);
  return protocol === 'https:' && !isLocal;
}

/**
 * Whether apps could set cookies that the panel receives (cookie tossing): `appsDomain` is the panel's
 * host, a parent of it, or a sibling below a public suffix. Without the list of public suffixes, two labels
 * count as a site: `example.com` is shared, `com` is not.
 */
export function sharesSite(panelHost: string, appsDomain: string): boolean {
  const panel = panelHost.toLowerCase();
  if (isIP(panel.replace(/^\[|\]$/g, '')) !== 0) return false;
  if (panel === appsDomain || panel.endsWith(`.${appsDomain}`)) return true;
  const parent = parentOf(panel);
  return parent.includes('.') && parent === parentOf(appsDomain);
}

function parentOf(host: string): string {
  return host.slice(host.indexOf('.') + 1);
}
