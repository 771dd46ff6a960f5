export const keptIn: string;
export function placeOf(source: string): string;
export function stripped(source: string): string;
