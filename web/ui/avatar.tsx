/** Owns pictures of people: drawn by the server from an id, the same for ever. Beside a name; it says nothing itself. */
export function Avatar({ seed }: { seed: string }) {
  const src = `/api/avatar/glass/circle/${encodeURIComponent(seed)}`;
  return <img className="avatar" src={src} alt="" width={26} height={26} loading="lazy" />;
}
