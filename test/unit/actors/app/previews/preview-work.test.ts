import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PreviewWork } from '../../../../../src/actors/app/previews/preview-work.ts';
import { ServiceError } from '../../../../../src/lib/errors.ts';
import type { PreviewPhase, PreviewRecord } from '../../../../../src/store/records/records.ts';
import { eventually } from '../../../../support/eventually.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { recordingLogger } from '../../../../support/silent-logger.ts';

const preview = (id: string, phase: PreviewPhase): PreviewRecord => ({
  ...{ id, appId: 'app_1', teamId: 'team_1', branch: id, connectionId: null, repository: '' },
  ...{ phase, commitSha: 'ab', commitMessage: null, pusher: null, hasApp: true, isPending: true },
  ...{ createdAtMs: 1, updatedAtMs: 1 },
});

/** Work on these previews; apps answer by what stands in `answers`, else that it is done. */
function workOn(...previews: PreviewRecord[]) {
  const clock = new ManualClock();
  const pending = previews;
  const asked: string[] = [];
  const answers = new Map<string, () => unknown>();
  const end = new AbortController();
  const core = {
    id: 'app_1',
    context: {
      work: (_name: string, run: (signal: AbortSignal) => Promise<void>) => {
        run(end.signal).catch(() => undefined);
      },
      report: async (change: () => unknown) => {
        await Promise.resolve();
        return change();
      },
      actors: {
        tell: () => undefined,
        ask: async ({ id }: { id: string }, { type }: { type: string }) => {
          asked.push(`${type} ${id}`);
          await Promise.resolve();
          return answers.get(id)?.() ?? true;
        },
      },
    },
    deps: { clock, logger: recordingLogger(), git: { mayPush: () => Promise.resolve(true) } },
  };
  const decisions = {
    surplus: [],
    pending,
    change: (one: Readonly<PreviewRecord>, patch: Partial<PreviewRecord>) => {
      const at = pending.indexOf(one);
      if (patch.isPending === false) pending.splice(at, 1);
      else pending[at] = { ...one, ...patch };
    },
    drop: () => undefined,
  };
  const work = new PreviewWork(
    core as unknown as ConstructorParameters<typeof PreviewWork>[0],
    decisions,
  );
  return { clock, pending, asked, answers, work, end };
}

describe('PreviewWork', () => {
  it('goes on at once with what is decided while it waits', async () => {
    const { asked, answers, work, pending, end } = workOn(preview('leaving', 'closing'));
    answers.set('leaving', () => false);
    work.begin();
    await eventually('waits', () => asked.length === 1);
    pending.push(preview('next', 'open'));
    work.begin();
    await eventually('next', () => asked.includes('preview-show next'));
    end.abort();
  });

  it('tries again what failed for the moment, and gives up what is refused', async () => {
    const { asked, answers, work, pending, clock } = workOn(
      preview('away', 'open'),
      preview('refused', 'open'),
      preview('new', 'checking'),
    );
    const fails = (code: 'AGENT_UNREACHABLE' | 'NOT_DEPLOYABLE') => () => {
      throw new ServiceError(code, 'No.');
    };
    answers.set('away', fails('AGENT_UNREACHABLE'));
    answers.set('refused', fails('NOT_DEPLOYABLE'));
    work.begin();
    await eventually('only one is left', () => pending.length === 1);
    assert.deepEqual(
      asked.toSorted(),
      ['away', 'new', 'refused'].map((id) => `preview-show ${id}`),
    );
    answers.delete('away');
    await clock.advance(1_000);
    await eventually('done', () => pending.length === 0);
    // It begins anew when there is something else.
    pending.push(preview('later', 'open'));
    work.begin();
    await eventually('done again', () => pending.length === 0);
  });
});
