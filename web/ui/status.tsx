/** Owns states as people see them: a dot with a word, the same colour for the same meaning everywhere. */

type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'off';

const tones: Readonly<Record<string, Tone>> = {
  active: 'good',
  running: 'good',
  ready: 'good',
  success: 'good',
  connected: 'good',
  error: 'bad',
  failed: 'bad',
  queued: 'busy',
  building: 'busy',
  starting: 'busy',
  provisioning: 'busy',
  verifying: 'busy',
  issuing: 'busy',
  restarting: 'busy',
  stopping: 'busy',
  pending_dns: 'warn',
  awaiting_approval: 'warn',
  superseded: 'off',
  canceled: 'off',
  closed: 'off',
  idle: 'off',
  stopped: 'off',
};

const words: Readonly<Record<string, string>> = {
  idle: 'not deployed',
  pending_dns: 'waits for DNS',
  awaiting_approval: 'waits for approval',
};

/** `tone` where a word means something else than elsewhere, such as a backup that is running. */
export function StatusDot({
  status,
  tone,
  quiet = false,
}: {
  status: string;
  tone?: Tone;
  quiet?: boolean;
}) {
  const word = words[status] ?? status.replaceAll('_', ' ');
  const shown = word.charAt(0).toUpperCase() + word.slice(1);
  return (
    <span className={`status status-${tone ?? tones[status] ?? 'off'}`}>
      <span className="status-dot" />
      <span className={quiet ? 'only-read' : undefined}>{shown}</span>
    </span>
  );
}

export function Badge({ tone = 'off', children }: { tone?: Tone; children: string }) {
  return <span className={`badge badge-${tone}`}>{children}</span>;
}
