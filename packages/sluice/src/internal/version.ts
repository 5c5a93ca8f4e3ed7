/** The version of this package. `npm run release:version` writes it, and a test compares it with package.json. */
export const VERSION = '0.1.0';
