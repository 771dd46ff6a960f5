/** The dialog that makes a token: a name, its rights, what it reaches, and when it ends. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { done } from '../../api/done.ts';
import { useSession } from '../../shell/session.ts';
import { Button } from '../../ui/button.tsx';
import { type Capability, CapabilityFields } from '../../ui/capabilities.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Check, SelectField, TextField } from '../../ui/field.tsx';
import { CreateToken, type TokensAnswer } from './documents.ts';

const lifetimes = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'A year' },
  { value: '', label: 'Never' },
];
const dayMs = 86_400_000;

interface CreateTokenDialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  choices: Pick<TokensAnswer, 'folders' | 'apps' | 'databases'>;
  onCreated: (secret: string) => void;
}

export function CreateTokenDialog(props: CreateTokenDialogProps) {
  return (
    <Dialog
      open={props.open}
      onOpenChange={props.onOpenChange}
      look="wide"
      title="New token"
      description="It acts as you, with no more than the rights you tick here. Reading what it reaches is always allowed."
    >
      <CreateTokenForm {...props} />
    </Dialog>
  );
}

function CreateTokenForm({ onOpenChange, choices, onCreated }: CreateTokenDialogProps) {
  const { can } = useSession();
  const [name, setName] = useState('');
  const [days, setDays] = useState('90');
  const [chosen, setChosen] = useState<ReadonlySet<Capability>>(new Set());
  const [isNarrow, setNarrow] = useState(false);
  const [scope, setScope] = useState<ReadonlySet<string>>(new Set());
  const [error, setError] = useState<ApiError | null>(null);
  const [{ fetching }, create] = useMutation(CreateToken);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const idsOf = (things: readonly { id: string }[]): string[] =>
      isNarrow ? things.map(({ id }) => id).filter((id) => scope.has(id)) : [];
    const expiresAt =
      days === '' ? null : new Date(Date.now() + Number(days) * dayMs).toISOString();
    const within = {
      folderIds: idsOf(choices.folders),
      appIds: idsOf(choices.apps.nodes),
      databaseIds: idsOf(choices.databases),
    };
    try {
      const input = { name, capabilities: [...chosen], expiresAt, ...(isNarrow && within) };
      const { createToken } = await done(create({ input }));
      onOpenChange(false);
      onCreated(createToken.secret);
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <div className="tokens-row">
        <TextField
          label="Name"
          required
          autoFocus
          placeholder="CI of the shop"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <SelectField
          label="Ends after"
          options={lifetimes}
          value={days}
          onChange={(event) => setDays(event.target.value)}
        />
      </div>
      <CapabilityFields chosen={chosen} onChange={setChosen} may={can} />
      <Check
        label="Only some folders, apps or databases"
        checked={isNarrow}
        onChange={(event) => setNarrow(event.target.checked)}
      />
      {isNarrow && <ScopeFields choices={choices} scope={scope} onChange={setScope} />}
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={() => onOpenChange(false)}>Cancel</Button>
        <Button
          type="submit"
          look="primary"
          busy={fetching}
          disabled={name.trim() === '' || (isNarrow && scope.size === 0)}
        >
          Create token
        </Button>
      </DialogActions>
    </form>
  );
}

interface ScopeFieldsProps {
  choices: CreateTokenDialogProps['choices'];
  scope: ReadonlySet<string>;
  onChange: (scope: ReadonlySet<string>) => void;
}

function ScopeFields({ choices, scope, onChange }: ScopeFieldsProps) {
  const set = (id: string, wanted: boolean): void => {
    const next = new Set(scope);
    if (wanted) next.add(id);
    else next.delete(id);
    onChange(next);
  };
  const groups = [
    ['Folders', choices.folders],
    ['Apps', choices.apps.nodes],
    ['Databases', choices.databases],
  ] as const;
  return (
    <div className="tokens-scope" role="group" aria-label="What it reaches" tabIndex={0}>
      {groups.map(([title, things]) =>
        things.length === 0 ? null : (
          <fieldset key={title} className="capabilities-group">
            <legend>{title}</legend>
            {things.map(({ id, name }) => (
              <Check
                key={id}
                label={<bdi>{name}</bdi>}
                checked={scope.has(id)}
                onChange={(event) => set(id, event.target.checked)}
              />
            ))}
          </fieldset>
        ),
      )}
    </div>
  );
}
