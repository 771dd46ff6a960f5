/** Owns deleting a folder in which nothing is. */
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { graphql } from '../../api/graphql.ts';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toast.tsx';

const DeleteFolderMutation = graphql(`
  mutation DeleteFolder($id: ID!) {
    deleteFolder(id: $id)
  }
`);

interface DeleteFolderProps {
  folder: { id: string; path: string } | null;
  close: () => void;
}

export function DeleteFolder({ folder, close }: DeleteFolderProps) {
  const [, remove] = useMutation(DeleteFolderMutation);
  return (
    <ConfirmDialog
      open={folder !== null}
      onOpenChange={close}
      title={`Delete ${folder?.path ?? ''}?`}
      action="Delete the folder"
      danger
      onConfirm={async () => {
        await done(remove({ id: folder?.id ?? '' }));
        toast(`${folder?.path ?? ''} is deleted.`);
      }}
    >
      Nothing is in it. The rights that people have in it end.
    </ConfirmDialog>
  );
}
