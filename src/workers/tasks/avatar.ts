/** Owns the thread that draws avatars, with DiceBear and the styles of its package, all on this machine. */
import { readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Avatar, Style } from '@dicebear/core';
import type { AvatarDesign, AvatarPreset, AvatarStyle } from '../avatars/designs.ts';

// A `nice` value: where threads compete, those that serve come first.
const yieldingPriority = 5;

/** Options that every style knows. */
const presets: Readonly<Record<AvatarPreset, object>> = {
  default: {},
  circle: { borderRadius: 50 },
  rounded: { borderRadius: 20 },
  soft: {
    borderRadius: 20,
    scale: 0.8,
    backgroundColor: ['e0e7ff', 'dbeafe', 'd1fae5', 'fef3c7', 'fee2e2', 'f3e8ff', 'e2e8f0'],
  },
};

const styles = new Map<AvatarStyle, Style>();

// Only on Linux does the priority apply to the calling thread alone.
if (process.platform === 'linux') setPriority(yieldingPriority);

export function drawAvatar({ style, preset, seed }: AvatarDesign): string {
  return new Avatar(styleOf(style), { ...presets[preset], seed }).toString();
}

function styleOf(name: AvatarStyle): Style {
  const known = styles.get(name);
  if (known) return known;
  const file = fileURLToPath(import.meta.resolve(`@dicebear/styles/${name}.json`));
  const style = new Style(JSON.parse(readFileSync(file, 'utf8')));
  styles.set(name, style);
  return style;
}
