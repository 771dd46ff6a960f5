/** A whole Gangway with an app beside which consoles are opened, and with two people who may, for scenarios. */
import { ConsoleClient } from './console-client.ts';
import { join, makeRole } from './access-world.ts';
import { archiveOf } from './gangway-client.ts';
import type { AppInfo, Client } from './gangway-client.ts';
import { Gangway } from './gangway.ts';

const serving = `require('node:http').createServer((_, answer) => answer.end('ok')).listen(process.env.PORT)`;

/** A small app that serves. */
export const servingArchive = archiveOf({
  Procfile: 'web: node index.js',
  'index.js': serving,
});

export class ConsolePlace {
  readonly gangway: Gangway;
  readonly teamId: string;
  readonly app: AppInfo;
  /** Holds what a console needs by a role of its own; the owner is `gangway.client`. */
  readonly other: Client;
  readonly otherRole: string;
  #opened: ConsoleClient[] = [];

  private constructor(
    parts: Pick<ConsolePlace, 'gangway' | 'teamId' | 'app' | 'other' | 'otherRole'>,
  ) {
    this.gangway = parts.gangway;
    this.teamId = parts.teamId;
    this.app = parts.app;
    this.other = parts.other;
    this.otherRole = parts.otherRole;
  }

  static async open(): Promise<ConsolePlace> {
    const gangway = await Gangway.open();
    const { client } = gangway;
    const { viewerTeam } = await client.must<{ viewerTeam: { id: string } }>(
      '{ viewerTeam { id } }',
    );
    const teamId = viewerTeam.id;
    const app = await client.runningApp('shelly', servingArchive);
    const otherRole = await makeRole(client, teamId, 'Operator', ['open_app_console', 'view_logs']);
    const other = await join(gangway, teamId, otherRole, 'other');
    return new ConsolePlace({ gangway, teamId, app, other, otherRole });
  }

  get path(): string {
    return `/api/apps/${this.app.id}/attach`;
  }

  /** One that `closeAll` ends. */
  async console(query = '', client = this.gangway.client): Promise<ConsoleClient> {
    return this.closed(await ConsoleClient.open(client, this.path, query));
  }

  /** Has it ended by `closeAll`, too. */
  closed(console: ConsoleClient): ConsoleClient {
    this.#opened.push(console);
    return console;
  }

  /** After each test. */
  async closeAll(): Promise<void> {
    for (const one of this.#opened.splice(0)) {
      await one.delete();
      one.drop();
    }
  }

  end(): Promise<void> {
    return this.gangway.end();
  }
}
