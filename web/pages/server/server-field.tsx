/** Owns the choice of a server, where there is more than one. */
import { graphql, type ResultOf } from '../../api/graphql.ts';
import { SelectField } from '../../ui/field.tsx';

export const ServerChoice = graphql(`
  fragment ServerChoice on Server {
    id
    name
    added
    connected
    draining
  }
`);

type Choice = ResultOf<typeof ServerChoice>;

/** This machine, which stands first, and those that were added: what is put on a swarm is spread by itself. */
export function choosable<T extends Pick<Choice, 'added'>>(servers: readonly T[]): readonly T[] {
  return servers.filter(({ added }, at) => at === 0 || added);
}

interface ServerFieldProps {
  label: string;
  servers: readonly Choice[];
  /** Where it is now; null: nowhere yet. */
  current?: string | null;
  value: string;
  onChange: (id: string) => void;
  disabled?: boolean;
}

export function ServerField({ servers, current = null, onChange, ...field }: ServerFieldProps) {
  const options = choosable(servers).map(({ id, name, connected, draining }, at) => {
    const isCurrent = id === current;
    const state = isCurrent ? ' (now)' : connected || at === 0 ? '' : ' (not connected)';
    const isClosed = at > 0 && (!connected || draining);
    return { value: id, label: `${name}${state}`, disabled: !isCurrent && isClosed };
  });
  if (options.length < 2) return null;
  return (
    <SelectField {...field} options={options} onChange={({ target }) => onChange(target.value)} />
  );
}
