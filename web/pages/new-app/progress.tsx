/** Owns how far packing and sending is. */
import type { DeployState } from './deploy.ts';
import { sizeInWords } from './chosen.ts';

export function Progress({ state }: { state: DeployState }) {
  if (state.at === 'idle' || state.at === 'failed') return null;
  return (
    <div className="progress" role="status">
      <p>{wordsOf(state)}</p>
      {'total' in state ? (
        <progress aria-label="Progress" max={state.total || 1} value={state.done} />
      ) : (
        <progress aria-label="Progress" />
      )}
    </div>
  );
}

function wordsOf(state: Exclude<DeployState, { at: 'idle' | 'failed' }>): string {
  switch (state.at) {
    case 'creating':
      return 'Making the app…';
    case 'queueing':
      return 'Queueing its deployment…';
    case 'packing':
      return `Packing ${sizeInWords(state.done)} of ${sizeInWords(state.total)}…`;
    case 'sending':
      return state.done >= state.total
        ? 'Sent; the server looks at it…'
        : `Sending ${sizeInWords(state.done)} of ${sizeInWords(state.total)}…`;
  }
}
