/** Entry point of the dashboard in a browser. */
import { StrictMode, useCallback, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Provider } from 'urql';
import { type Api, openApi } from './api/client.ts';
import { setConnection } from './shell/connection.ts';
import { Shell } from './shell/shell.tsx';

/** What is cached belongs to a team: for another one there is another client. */
function Root() {
  const [round, setRound] = useState(0);
  const onTeam = useCallback(() => setRound((before) => before + 1), []);
  return <InTeam key={round} onTeam={onTeam} />;
}

function InTeam({ onTeam }: { onTeam: () => void }) {
  const [api, setApi] = useState<Api | null>(null);
  useEffect(() => {
    const opened = openApi({
      onSignedOut: () => setConnection({ signedOut: true }),
      onReached: (online) => setConnection({ online }),
    });
    setApi(opened);
    return opened.close;
  }, []);
  if (api === null) return null;
  return (
    <Provider value={api.client}>
      <Shell onTeam={onTeam} />
    </Provider>
  );
}

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no root.');
createRoot(root).render(
  <StrictMode>
    <Root />
  </StrictMode>,
);
