/** Tests how the page is served. The content of the page is tested in packages/playground. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { serving, type Serving, temporaryFolder } from '../../serving.ts';

const HTML = `<!doctype html><title>Sluice</title>${'<p>words</p>'.repeat(200)}`;
const SCRIPT = 'console.log("a page");\n'.repeat(200);

async function withPage(): Promise<Serving> {
  const page = temporaryFolder();
  mkdirSync(join(page, 'assets'));
  writeFileSync(join(page, 'index.html'), HTML);
  writeFileSync(join(page, 'assets/index-AbC_123x.js'), SCRIPT);
  writeFileSync(join(page, 'assets/secret.env'), 'not for anybody');
  return serving('limits: { a: 1/h }', { page });
}

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** Returns the response as sent over the wire, which fetch would decompress. */
function get(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers, method }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(pieces),
        }),
      );
    });
    asked.on('error', reject);
    asked.end();
  });
}

test('the page is served with a strict Content-Security-Policy, and revalidated on each visit', async () => {
  const { url } = await withPage();
  const { status, headers, body } = await get(url);
  expect([status, String(body)]).toEqual([200, HTML]);
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    vary: 'Accept-Encoding',
  });
  expect(headers['content-security-policy']).toContain(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'",
  );
});

test('files with a content hash in their name are cached permanently', async () => {
  const { url } = await withPage();
  const { headers, body } = await get(`${url}/assets/index-AbC_123x.js`);
  expect(String(body)).toBe(SCRIPT);
  expect(headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
  });
});

test.each([
  ['gzip', 'gzip, deflate', gunzipSync],
  ['br', 'gzip, deflate, br', brotliDecompressSync],
  ['gzip', 'br;q=0, gzip;q=0.5', gunzipSync],
] as const)(
  'files are compressed with %s for clients that accept %s',
  async (encoding, accepted, decompress) => {
    const { url } = await withPage();
    for (let i = 0; i < 2; i++) {
      const { headers, body } = await get(url, { 'accept-encoding': accepted });
      expect(headers['content-encoding']).toBe(encoding);
      expect(String(decompress(body))).toBe(HTML);
      expect(Number(headers['content-length'])).toBe(body.length);
      expect(body.length).toBeLessThan(HTML.length / 4);
    }
  },
);

test('a file that has not changed gives a 304, in each encoding', async () => {
  const { url } = await withPage();
  for (const accepted of ['identity', 'br']) {
    const first = await get(url, { 'accept-encoding': accepted });
    const etag = String(first.headers['etag']);
    const again = await get(url, { 'accept-encoding': accepted, 'if-none-match': `"other", W/${etag}` });
    expect([again.status, again.body.length, again.headers['etag']]).toEqual([304, 0, etag]);
    const other = accepted === 'br' ? 'identity' : 'br';
    expect((await get(url, { 'accept-encoding': other, 'if-none-match': etag })).status).toBe(200);
  }
});

test('a HEAD request gets only the headers', async () => {
  const { url } = await withPage();
  const { status, headers, body } = await get(url, {}, 'HEAD');
  expect([status, Number(headers['content-length']), body.length]).toEqual([200, HTML.length, 0]);
});

test('only files of the page are served, whatever path is requested', async () => {
  const { url } = await withPage();
  for (const path of [
    '/assets/secret.env',
    '/index.htm',
    '/assets',
    '/../package.json',
    '/%2e%2e/package.json',
  ])
    expect([path, (await get(url + path)).status]).toEqual([path, 404]);
  expect((await fetch(url, { method: 'POST' })).status).toBe(405);
});

test('if the page was not built, a short text is served instead, and --page none serves nothing', async () => {
  const empty = await serving('limits: { a: 1/h }', { page: join(temporaryFolder(), 'missing') });
  expect(String((await get(empty.url)).body)).toContain('npm run build');
  const none = await serving('limits: { a: 1/h }', { page: 'none' });
  expect((await get(none.url)).status).toBe(404);
});
