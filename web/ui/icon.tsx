/** Owns the icons: outlines on a grid of 24, in the colour of the text beside them. */

const shapes = {
  activity: 'M3 12h4l3 8 4-16 3 8h4',
  app: 'M4 5h16v14H4zM4 9h16M7 7h.01M10 7h.01',
  archive: 'M3 5h18v4H3zM5 9v10h14V9M10 13h4',
  backup:
    'M12 13v8m0 0-3-3m3 3 3-3M7 17H6a4 4 0 0 1-.6-8A6.5 6.5 0 0 1 18 8.6 4.2 4.2 0 0 1 18 17h-1',
  book: 'M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11',
  box: 'm12 3 8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  chevron: 'm9 6 6 6-6 6',
  chevrons: 'm8 9 4-4 4 4M8 15l4 4 4-4',
  clock: 'M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18',
  code: 'm8 7-5 5 5 5M16 7l5 5-5 5',
  copy: 'M9 9h11v11H9zM15 9V4H4v11h5',
  database:
    'M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3',
  down: 'm6 9 6 6 6-6',
  download: 'M12 4v11m0 0-4-4m4 4 4-4M5 20h14',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12M12 9.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5',
  filter: 'M4 6h16M7 12h10M10 18h4',
  folder: 'M3 6h6l2 2h10v11H3z',
  git: 'M6 4v12M6 16a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5M18 4a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5M18 9c0 5-6 4-10 7',
  globe: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M3 12h18M12 3c5 5 5 13 0 18M12 3c-5 5-5 13 0 18',
  home: 'm3 11 9-7 9 7M5 10v10h14V10',
  info: 'M12 11v5M12 8h.01M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18',
  key: 'M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8M11 12l9-9M16 7l3 3',
  link: 'M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-6-6l-1.5 1.5M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 6 6l1.5-1.5',
  list: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  log: 'M5 4h14v16H5zM8 8h8M8 12h8M8 16h5',
  logout: 'M10 4H5v16h5M15 8l4 4-4 4M19 12H9',
  menu: 'M4 7h16M4 12h16M4 17h16',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5',
  more: 'M5 11.5v1M4.5 12h1M12 11.5v1M11.5 12h1M19 11.5v1M18.5 12h1',
  pause: 'M9 5v14M15 5v14',
  play: 'M7 5v14l11-7z',
  plus: 'M12 5v14M5 12h14',
  refresh: 'M20 11a8 8 0 0 0-14.5-4L3 9m0-5v5h5M4 13a8 8 0 0 0 14.5 4L21 15m0 5v-5h-5',
  rocket:
    'M14 4c3-1 6-1 6-1s0 3-1 6c-1.200 3.500-5 6-7 7l-4-4c1-2 3-7 6-8M8 12l-4 1 2-4 4-1M12 16l-1 4 4-2 1-4M15 9h.01',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16 16l4.5 4.5',
  server: 'M4 4h16v7H4zM4 13h16v7H4zM8 7.500h.01M8 16.500h.01',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4',
  shield: 'M12 3 5 6v5c0 5 3 8 7 10 4-2 7-5 7-10V6z',
  sparkle: 'M12 4v6M12 14v6M4 12h6M14 12h6',
  stop: 'M6 6h12v12H6z',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M4 12H2M22 12h-2M5 5l1.500 1.500M17.500 17.500 19 19M19 5l-1.500 1.500M6.500 17.500 5 19',
  team: 'M9 5a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7M2.500 20a6.500 6.500 0 0 1 13 0M16 5.500a3.300 3.300 0 0 1 0 6M18 14.500a6 6 0 0 1 3.500 5.500',
  terminal: 'm5 8 4 4-4 4M12 17h7',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
  upload: 'M12 20V9m0 0-4 4m4-4 4 4M5 4h14',
  user: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8M4.500 21a7.500 7.500 0 0 1 15 0',
  warning: 'M12 9v5M12 17h.01M12 3.500 2.500 20h19z',
  x: 'M6 6l12 12M18 6 6 18',
} as const;

export type IconName = keyof typeof shapes;

/** Says nothing to a screen reader: the text beside it does, or the label of its button. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={size > 20 ? 1.5 : 1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={shapes[name]} />
    </svg>
  );
}

/** The gate, as on the sign-in pages. */
export function Mark({ size = 22 }: { size?: number }) {
  return (
    <svg
      className="mark"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={2}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d="M4 21V10a8 8 0 0 1 16 0v11M9 21v-9a3 3 0 0 1 6 0v9M2 21h20" />
    </svg>
  );
}
