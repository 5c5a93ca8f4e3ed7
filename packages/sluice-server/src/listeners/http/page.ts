/**
 * Handles GET /, which serves the playground page (built from packages/playground), or a short text if the page was not built.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { type Reply, text } from './reply.ts';

/** Replies with a file. `accepted` is the Accept-Encoding header, and `known` is the If-None-Match header. */
export type PageFile = (accepted: string, known: string) => Reply | Promise<Reply>;

const BUILT = fileURLToPath(new URL('../../../dist/page/', import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const SECURITY: NonNullable<Reply['headers']> = [
  [
    'Content-Security-Policy',
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ],
  ['Referrer-Policy', 'no-referrer'],
];
/** Matches file names that contain a hash of the content. */
const HASHED = /-[\w-]{8}\.\w+$/;

const ENCODERS = { br: promisify(brotliCompress), gzip: promisify(gzip) } as const;

/** The files of the page, by URL path. If the folder contains no page, `/` replies with a short text. */
export function pageFiles(folder: string = BUILT): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>();
  if (folder === 'none') return files;
  for (const name of filesIn(folder)) {
    const path = name === 'index.html' ? '/' : `/${name.replaceAll('\\', '/')}`;
    files.set(path, fileOf(name, readFileSync(join(folder, name))));
  }
  if (!files.has('/')) files.set('/', () => ({ ...text(UNBUILT), headers: SECURITY }));
  return files;
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (name) => extname(name) in TYPES,
    );
  } catch {
    return [];
  }
}

function fileOf(name: string, content: Buffer): PageFile {
  const type = TYPES[extname(name)];
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 16);
  const keep = HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache';
  const compressed = new Map<string, Promise<Buffer>>();

  /** Compresses once per encoding, outside the main thread. */
  function compress(how: keyof typeof ENCODERS): Promise<Buffer> {
    const known = compressed.get(how) ?? ENCODERS[how](content);
    compressed.set(how, known);
    return known;
  }

  return async (accepted, known) => {
    const how = accepts(accepted, 'br') ? 'br' : accepts(accepted, 'gzip') ? 'gzip' : undefined;
    const tag = `"${hash}${how === undefined ? '' : `-${how}`}"`;
    const headers: Reply['headers'] = [
      ...SECURITY,
      ['Cache-Control', keep],
      ['ETag', tag],
      ['Vary', 'Accept-Encoding'],
      ...(how === undefined ? [] : [['Content-Encoding', how] as const]),
    ];
    // Splits first and then trims, because a regular expression for optional blanks would take seconds on a header full of
    // blanks.
    if (known.split(',').some((one) => one.trim().replace(/^W\//, '') === tag))
      return { status: 304, type, body: '', headers };
    return { status: 200, type, body: how === undefined ? content : await compress(how), headers };
  };
}

function accepts(header: string, how: string): boolean {
  return header.split(',').some((one) => {
    const [name = '', weight = ''] = one.split(';').map((part) => part.trim());
    return name === how && Number(weight.replace(/^q=/, '') || 1) > 0;
  });
}

const UNBUILT = `This is a Sluice server, which checks rate limits.

  curl -d '{"limit":"api","key":"alice"}' http://localhost:8080/v1/take

GET /openapi.json describes all endpoints. The page was not built. To build it, run: npm run build -w sluice-playground
`;
