/** Owns deleting an app. */
import { useState } from 'react';
import { useMutation } from 'urql';
import { useLocation } from 'wouter';
import { graphql } from '../../../api/graphql.ts';
import { Button } from '../../../ui/button.tsx';
import { ConfirmDialog } from '../../../ui/dialog.tsx';
import { Section } from '../../../ui/page.tsx';
import { toast } from '../../../ui/toast.tsx';
import { type App, mayOn } from '../app-parts.ts';

const DeleteApp = graphql(`
  mutation DeleteApp($id: ID!) {
    deleteApp(id: $id)
  }
`);

export function DangerZone({ app: { id, name, ...app } }: { app: App }) {
  const [asks, setAsks] = useState(false);
  const [, remove] = useMutation(DeleteApp);
  const [, navigate] = useLocation();
  if (!mayOn(app, 'delete_apps')) return null;
  return (
    <Section
      title="Danger zone"
      look="danger"
      description="A deleted app stops at once. For seven days it lies in the trash, with its data."
    >
      <div>
        <Button look="danger" icon="trash" onClick={() => setAsks(true)}>
          Delete this app…
        </Button>
      </div>
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title={`Delete ${name}?`}
        action="Delete the app"
        danger
        typed={name}
        onConfirm={async () => {
          const { error } = await remove({ id });
          if (error) throw error;
          toast(`${name} is in the trash for seven days.`);
          navigate('/');
        }}
      >
        Its visitors get an error from now on, its addresses are free for others after seven days,
        and what it keeps on disk goes with it then.
      </ConfirmDialog>
    </Section>
  );
}
