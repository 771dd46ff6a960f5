/** Owns trying a token against the address of MCP. The token goes to this instance alone, and is not kept. */
import { type FormEvent, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Icon } from '../../ui/icon.tsx';
import { McpRefused, whatTokenReaches } from './mcp-calls.ts';

interface Told {
  isGood: boolean;
  lines: readonly string[];
}

export function TryToken({ path, team }: { path: string; team: string | null }) {
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const [told, setTold] = useState<Told | null>(null);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setTold(null);
    try {
      setTold({ isGood: true, lines: await whatTokenReaches({ path, team, token: token.trim() }) });
    } catch (error) {
      const line = error instanceof McpRefused ? error.message : 'The server could not be reached.';
      setTold({ isGood: false, lines: [line] });
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="mcp-try" onSubmit={(event) => void submit(event)}>
      <TextField
        label="API token"
        type="password"
        value={token}
        onChange={(event) => setToken(event.target.value)}
        required
        maxLength={512}
        placeholder="gwy_…"
        autoComplete="off"
        spellCheck={false}
        hint="It goes to this instance alone, and is not kept."
      />
      <div>
        <Button type="submit" busy={busy} disabled={token.trim() === ''}>
          Test the connection
        </Button>
      </div>
      <div role="status" className={told?.isGood === false ? 'mcp-bad' : undefined}>
        {told !== null && (
          <>
            <Icon name={told.isGood ? 'check' : 'warning'} />
            <div>
              {told.lines.map((line) => (
                <p key={line}>{line}</p>
              ))}
            </div>
          </>
        )}
      </div>
    </form>
  );
}
