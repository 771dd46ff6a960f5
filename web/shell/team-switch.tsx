/** Owns the choice of the team that this tab acts in. */
import { useLocation } from 'wouter';
import { Icon } from '../ui/icon.tsx';
import { Menu, MenuItem, MenuLabel } from '../ui/menu.tsx';
import { toastError } from '../ui/toast.tsx';
import { initialOf, useSession } from './session.ts';

export function TeamSwitch() {
  const { team, teams, switchTeam } = useSession();
  const [, navigate] = useLocation();
  if (team === null) return null;
  const choose = async (id: string): Promise<void> => {
    if (id === team.id) return;
    try {
      await switchTeam(id);
      navigate('/');
    } catch (error) {
      toastError(error);
    }
  };
  if (teams.length < 2) {
    return (
      <p className="team-switch">
        <TeamBadge name={team.name} /> <span className="team-name">{team.name}</span>
      </p>
    );
  }
  return (
    <Menu
      align="start"
      trigger={
        <button type="button" className="team-switch">
          <TeamBadge name={team.name} />
          <span className="team-name">
            {team.name}
            <span className="only-read">: switch team</span>
          </span>
          <Icon name="chevrons" size={14} />
        </button>
      }
    >
      <MenuLabel>Teams</MenuLabel>
      {teams.map(({ id, name }) => (
        <MenuItem key={id} chosen={id === team.id} onSelect={() => void choose(id)}>
          {name}
        </MenuItem>
      ))}
    </Menu>
  );
}

function TeamBadge({ name }: { name: string }) {
  return (
    <span className="team-badge" aria-hidden="true">
      {initialOf(name)}
    </span>
  );
}
