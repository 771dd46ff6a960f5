/**
 * Owns which avatars there are: styles of DiceBear whose drawings are in the public domain (CC0), and presets,
 * which each style has. A picture depends on nothing but its design, so that an address has one picture for ever.
 */

// prettier-ignore
const avatarStyles = [
  'shapes', 'initials', 'identicon', 'thumbs', 'rings', 'glass', 'planets', 'pixel-art', 'critters',
] as const;
export type AvatarStyle = (typeof avatarStyles)[number];

const avatarPresets = ['default', 'circle', 'rounded', 'soft'] as const;
export type AvatarPreset = (typeof avatarPresets)[number];

/** Plain data. */
export interface AvatarDesign {
  style: AvatarStyle;
  preset: AvatarPreset;
  /** Whatever the picture is of; any text. */
  seed: string;
}

export function avatarStyle(name: string): AvatarStyle | undefined {
  return avatarStyles.find((one) => one === name);
}

export function avatarPreset(name: string): AvatarPreset | undefined {
  return avatarPresets.find((one) => one === name);
}
