/** Owns the deploy hook: an address that deploys the app when something posts to it. */
import { useState } from 'react';
import { useMutation } from 'urql';
import { graphql } from '../../../api/graphql.ts';
import { Button } from '../../../ui/button.tsx';
import { CopyButton } from '../../../ui/copy-button.tsx';
import { ConfirmDialog } from '../../../ui/dialog.tsx';
import { Check, TextField } from '../../../ui/field.tsx';
import { Section } from '../../../ui/page.tsx';
import { toast, toastError } from '../../../ui/toast.tsx';
import type { Settings } from './save.ts';

const RevealHook = graphql(`
  mutation RevealDeployHook($id: ID!) {
    revealAppDeployHook(id: $id)
  }
`);

const RotateHook = graphql(`
  mutation RotateDeployHook($id: ID!) {
    rotateAppDeployHook(id: $id)
  }
`);

const EnableHook = graphql(`
  mutation EnableDeployHook($id: ID!, $enabled: Boolean!) {
    setAppDeployHookEnabled(id: $id, enabled: $enabled) {
      id
      deployHookEnabled
    }
  }
`);

export function DeployHook({ settings: { id, deployHookEnabled } }: { settings: Settings }) {
  const [url, setUrl] = useState<string | null>(null);
  const [asks, setAsks] = useState(false);
  const [{ fetching: reveals }, reveal] = useMutation(RevealHook);
  const [, rotate] = useMutation(RotateHook);
  const [{ fetching: switches }, enable] = useMutation(EnableHook);
  const show = async (): Promise<void> => {
    const { data, error } = await reveal({ id });
    if (error) toastError(error);
    else setUrl(data?.revealAppDeployHook ?? null);
  };
  const change = async (enabled: boolean): Promise<void> => {
    const { error } = await enable({ id, enabled });
    if (error) toastError(error);
  };
  return (
    <Section
      title="Deploy hook"
      description="A POST to its address deploys the app, with an API token that may deploy it as its bearer."
    >
      <Check
        look="switch"
        label="Deploy when the hook is called"
        checked={deployHookEnabled}
        disabled={switches}
        onChange={(event) => void change(event.target.checked)}
      />
      {url !== null && (
        <div className="settings-secret">
          <TextField
            label="Address"
            value={url}
            readOnly
            spellCheck={false}
            onFocus={(event) => event.target.select()}
          />
          <CopyButton text={url} label="Copy the address" />
        </div>
      )}
      <div className="page-actions">
        {url === null ? (
          <Button icon="eye" busy={reveals} onClick={() => void show()}>
            Show the address
          </Button>
        ) : (
          <Button onClick={() => setUrl(null)}>Hide the address</Button>
        )}
        <Button icon="refresh" onClick={() => setAsks(true)}>
          Make a new one…
        </Button>
      </div>
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title="Make a new address?"
        action="Make a new one"
        danger
        onConfirm={async () => {
          const { data, error } = await rotate({ id });
          if (error) throw error;
          setUrl(data?.rotateAppDeployHook ?? null);
          toast('The old address is dead.');
        }}
      >
        The old one is dead at once: whatever calls it has to be told the new one.
      </ConfirmDialog>
    </Section>
  );
}
