// @ts-check
// Draws the logo in the colors of docs/brand/colors.css. `node site/pictures/logo.mjs` writes the files to docs/brand. A test checks that
// they are up to date.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = new URL('../../docs/brand/', import.meta.url);

/** @typedef {'light' | 'dark'} Theme */

/** The value of a color in a theme. @param {string} name without the leading hyphens @param {Theme} theme */
export function colorOf(name, theme) {
  const css = readFileSync(new URL('colors.css', folder), 'utf8');
  const [, value = ''] = new RegExp(`--${name}: (.+);`).exec(css) ?? [];
  const [, light, dark] = /^light-dark\((.+), (.+)\)$/.exec(value) ?? [];
  const color = (theme === 'light' ? light : dark) ?? value;
  if (!/^#[\da-f]{6}$/.test(color)) throw new Error(`colors.css has no color --${name}`);
  return color;
}

/** A sluice gate in a wall. The water is high on its left, and leaves under the gate at a lower level. */
function mark() {
  const [gate, wall, water] = ['gate', 'wall', 'water'].map((part) => colorOf(`logo-${part}`, 'light'));
  return [
    `<rect width="32" height="32" rx="8" fill="${wall}"/>`,
    `<path fill="${water}" d="M0 11.5c2.6-2.3 5-2.3 7.5 0s5 2.2 7.5 0V21.500c3 0 5 1 7.5 2.100s6 1.5 9.5.4A8 8 0 0 1 24 32H8a8 8 0 0 1-8-8z"/>`,
    `<rect x="13.5" y="4.5" width="5" height="17.5" rx="2" fill="${gate}"/>`,
  ].join('');
}

/** The letters of the name, as strokes. */
const LETTERS = [
  'M52.3 14.300c-.9-1.5-2.6-2.3-4.7-2.3-2.7 0-4.5 1.2-4.5 3 0 1.9 1.8 2.5 4.6 3s4.8 1.2 4.8 3.1-2 2.9-4.8 2.900c-2.2 0-4-.8-5-2.4', // s
  'M59 5.500V24', // l
  'M65.5 12v7a5 5 0 0 0 10 0V12M75.5 12V24', // u
  'M82 12V24M82 6v.01', // i
  'M98.2 13.800a6 6 0 1 0 0 8.4', // c
  'M103.5 18h12a6 6 0 1 0-1.8 4.2', // e
].join('');

/** The files of the logo and their contents. @returns {Record<string, string>} */
export function drawLogo() {
  const open = (/** @type {number} */ width) =>
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} 32" role="img" aria-label="Sluice"><title>Sluice</title>`;
  /** @param {string} ink */
  const full = (ink) =>
    `${open(118)}${mark()}<path d="${LETTERS}" fill="none" stroke="${ink}" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg>\n`;
  const icon = `${open(32)}${mark()}</svg>\n`;
  return {
    'mark.svg': icon,
    // The development server of the playground serves only files in its own folder, so the playground's icon is a copy.
    '../../packages/playground/src/icon.svg': icon,
    // Pages that contain the logo as part of their HTML give it their text color.
    'logo.svg': full('currentColor'),
    'logo-light.svg': full(colorOf('ink', 'light')),
    'logo-dark.svg': full(colorOf('ink', 'dark')),
  };
}

/** The path of one of the files. @param {string} name */
export const logoFile = (name) => fileURLToPath(new URL(name, folder));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, svg] of Object.entries(drawLogo())) writeFileSync(logoFile(name), svg);
  console.log('docs/brand: wrote the logo');
}
