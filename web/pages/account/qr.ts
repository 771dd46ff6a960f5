/** Owns QR codes as the path of a picture. */

/** The dark squares, on a grid of `size`, with the quiet border around that readers need. */
export async function qrPath(text: string): Promise<{ path: string; size: number }> {
  const { encode } = await import('uqr');
  const { data, size } = encode(text, { border: 2 });
  const rows = data.map((row, y) =>
    row.map((isDark, x) => (isDark ? `M${String(x)} ${String(y)}h1v1h-1z` : '')).join(''),
  );
  return { path: rows.join(''), size };
}
