import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { activityActorDefinition } from '../../../src/actors/activity/actor.ts';
import { recordActivity } from '../../../src/actors/activity/record.ts';
import { Causes } from '../../../src/actors/runtime/causes.ts';
import { ActorRuntime } from '../../../src/actors/runtime/runtime.ts';
import { teamActorDefinition } from '../../../src/actors/team/actor.ts';
import { teamActor } from '../../../src/actors/team/protocol.ts';
import { Audit, type AuditedRequest } from '../../../src/auth/audit.ts';
import type { ActivityRecord } from '../../../src/store/records/records.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../support/accounts-fixture.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { plainSecrets } from '../../support/plain-secrets.ts';
import { recordingLogger } from '../../support/silent-logger.ts';

describe('Audit', () => {
  let fixture: AccountsFixture;
  let runtime: ActorRuntime;
  let audit: Audit;
  let clock: ManualClock;

  beforeEach(() => {
    fixture = new AccountsFixture();
    const { store } = fixture;
    clock = new ManualClock();
    const causes = new Causes();
    const log = recordingLogger();
    fixture.addUser('ada');
    fixture.addTeam('team_one', 'ada');
    const recordCause = recordActivity({ reader: store });
    const carry = structuredClone;
    runtime = new ActorRuntime({ store, clock, logger: log, carry, causes, recordCause });
    runtime.register(teamActorDefinition({ reader: store, clock, secrets: plainSecrets }));
    const bounds = { days: 365, perTeamMax: 100 };
    runtime.register(activityActorDefinition({ reader: store, clock, ...bounds }));
    runtime.start();
    audit = new Audit({ causes, actors: runtime, reader: store, clock, log });
  });

  afterEach(async () => {
    await runtime.close();
    await fixture.close();
  });

  async function recorded(
    agent: AuditedRequest['agent'],
    name: string,
  ): Promise<Readonly<ActivityRecord>> {
    // Ids order by the millisecond.
    await clock.advance(1);
    const request: AuditedRequest = {
      action: 'createFolder',
      principal: { kind: 'token', userId: 'ada', tokenId: 'tok_1', teamId: 'team_one' },
      address: '192.0.2.1',
      userAgent: 'node',
      via: 'mcp',
      agent: agent ?? null,
    };
    await audit.during(request, () =>
      runtime.ask(teamActor.at('team_one'), { type: 'folder-create', name, parentId: null }),
    );
    const last = { reverse: true, limit: 1 };
    const [entry] = fixture.store.list(tables.activity, 'team', ['team_one'], last);
    assert.ok(entry);
    return entry;
  }

  it('tells of a change over MCP which client made it, by which tool, and from where', async () => {
    const { actor, details } = await recorded({ client: 'claude-code 2.1', tool: 'x_tool' }, 'A');
    assert.equal(actor, 'token:tok_1 of ada@example.org');
    const { targetId, ...told } = details;
    assert.equal(typeof targetId, 'string');
    assert.deepEqual(told, {
      userId: 'ada',
      tokenId: 'tok_1',
      address: '192.0.2.1',
      userAgent: 'node',
      via: 'mcp',
      client: 'claude-code 2.1',
      tool: 'x_tool',
    });
  });

  it('keeps of a name what can be shown, a hundred characters of it', async () => {
    const hostile = `A\u001b[2J\u202e\r\n\u0000${'x'.repeat(5_000)}`;
    const { details } = await recorded({ client: hostile, tool: 'x_tool' }, 'A');
    assert.match(String(details['client']), /^A\[2Jx{80,100}$/);
    assert.ok(String(details['client']).length <= 100);
    for (const [index, nothing] of [null, '', ' \n', '\u202e\u200b'].entries()) {
      const nameless = await recorded({ client: nothing, tool: 'x_tool' }, `B${index}`);
      assert.equal(nameless.details['client'], null);
    }
  });
});
