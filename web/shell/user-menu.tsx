/** Owns the menu of the person: appearance, account, and signing out. */
import { useState } from 'react';
import { Avatar } from '../ui/avatar.tsx';
import { Icon } from '../ui/icon.tsx';
import { Menu, MenuItem, MenuLabel, MenuLine, MenuLink } from '../ui/menu.tsx';
import { useSession } from './session.ts';
import { chooseTheme, chosenTheme, type Theme } from './theme.ts';

const themes: readonly (readonly [Theme, string, 'sun' | 'moon' | 'settings'])[] = [
  ['light', 'Light', 'sun'],
  ['dark', 'Dark', 'moon'],
  ['system', 'As the system', 'settings'],
];

export function UserMenu() {
  const { me } = useSession();
  const [theme, setTheme] = useState(chosenTheme);
  const choose = (chosen: Theme): void => {
    chooseTheme(chosen);
    setTheme(chosen);
  };
  return (
    <Menu
      align="start"
      trigger={
        <button type="button" className="user-menu">
          <Avatar seed={me.id} />
          <span className="user-name">
            {me.name}
            <span className="only-read">: account</span>
          </span>
          <Icon name="more" />
        </button>
      }
    >
      <MenuLabel>{me.email}</MenuLabel>
      <MenuLink href="/account" icon="user">
        Account
      </MenuLink>
      <MenuLink href="/mcp" icon="sparkle">
        Connect an AI client
      </MenuLink>
      <MenuLine />
      <MenuLabel>Appearance</MenuLabel>
      {themes.map(([value, label, icon]) => (
        <MenuItem key={value} icon={icon} chosen={theme === value} onSelect={() => choose(value)}>
          {label}
        </MenuItem>
      ))}
      <MenuLine />
      <MenuItem icon="logout" onSelect={signOut}>
        Sign out
      </MenuItem>
    </Menu>
  );
}

/** As the sign-in page does it: a form, so that the answer's cookies count and the next page is the server's. */
function signOut(): void {
  const form = document.createElement('form');
  form.method = 'post';
  form.action = '/logout';
  document.body.append(form);
  form.submit();
}
