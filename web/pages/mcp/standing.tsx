/** Whether MCP is on in the team, its switch, and whose clients may come. */
import { useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { graphql, type ResultOf } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { Check } from '../../ui/field.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Section } from '../../ui/page.tsx';
import { toastError } from '../../ui/toast.tsx';

const SetMcp = graphql(`
  mutation SetMcpSettings($enabled: Boolean!) {
    setMcpSettings(enabled: $enabled) {
      enabled
    }
  }
`);

export const StandingRoles = graphql(`
  fragment StandingRoles on Role {
    id
    name
    capabilities
  }
`);

interface McpSwitchProps {
  isOn: boolean;
  /** After it was switched. */
  again: () => void;
}

export function McpSwitch({ isOn, again }: McpSwitchProps) {
  const { can, team } = useSession();
  const [, set] = useMutation(SetMcp);
  const [wish, setWish] = useState<boolean | null>(null);
  const mayManage = can('manage_team');
  const change = async (enabled: boolean): Promise<void> => {
    setWish(enabled);
    try {
      await done(set({ enabled }));
      again();
    } catch (thrown) {
      toastError(thrown);
    } finally {
      setWish(null);
    }
  };
  return (
    <Check
      look="switch"
      label={`AI agents may act in ${team?.name ?? 'this team'}`}
      hint={
        mayManage
          ? 'With tokens and clients of its people, and never with more than their rights.'
          : 'It takes the right “Manage the team” to change this.'
      }
      checked={wish ?? isOn}
      disabled={!mayManage || wish !== null}
      onChange={(event) => void change(event.target.checked)}
    />
  );
}

interface McpStandingProps extends McpSwitchProps {
  roles: readonly ResultOf<typeof StandingRoles>[];
}

export function McpStanding({ isOn, again, roles }: McpStandingProps) {
  const { can } = useSession();
  const may = roles.filter(({ capabilities }) => capabilities.includes('manage_mcp'));
  return (
    <Section title="Who may">
      <McpSwitch isOn={isOn} again={again} />
      <p className="mcp-may">
        It takes the right “Let AI agents act for oneself”. Roles that have it:{' '}
        {may.length === 0 ? 'none' : may.map(({ name }) => name).join(', ')}.
      </p>
      {!can('manage_mcp') && (
        <p className="mcp-may mcp-lacks">
          <Icon name="warning" /> You lack it: your clients and tokens are refused here. Whoever
          manages the roles of the team can give it to you.
        </p>
      )}
    </Section>
  );
}
