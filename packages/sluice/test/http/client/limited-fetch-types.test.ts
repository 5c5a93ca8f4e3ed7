/** Type checks: `limitedFetch(fetch)` has the type of `fetch` under the typings of each platform. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../../../', import.meta.url));
const workshop = join(root, `.build/fetch-types-${process.pid}`);

function tsc(...args: string[]): string {
  return spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...args], {
    encoding: 'utf8',
  }).stdout;
}

const USE = `
import { createLimiter } from './dist/index.js';
import { limitedFetch } from './dist/http/index.js';
const polite: typeof fetch = limitedFetch(fetch);
const response: Response = await limitedFetch(fetch, {
  limiter: createLimiter('10/s'),
  key: ({ url, headers }) => url + headers.get('authorization'),
})('https://example.org/', { method: 'PUT', body: 'text', headers: { accept: 'text/plain' } });
limitedFetch(fetch, {
  limiter: createLimiter({ requests: '10/s', tokens: '1000/s' }),
  cost: { requests: 1, tokens: 42 },
  settle: (response, { url }) => ({ tokens: Number(response?.headers.get('x-tokens') ?? url.length) }),
});
// @ts-expect-error: a cost is a number.
limitedFetch(fetch, { cost: { tokens: 'many' } });
// @ts-expect-error: a number is not a URL.
void polite(42);
// @ts-expect-error: unknown option.
limitedFetch(fetch, { retrys: 1 });
// @ts-expect-error: not a fetch.
limitedFetch((url: string) => url.length);
export { response };
`;

/** An excerpt of Cloudflare's declarations: only what a call uses. */
const WORKERS = `
declare class Headers { constructor(init?: Record<string, string>); get(name: string): string | null }
interface ReadableStream { cancel(reason?: unknown): Promise<void> }
interface AbortSignal { readonly aborted: boolean; readonly reason: any; throwIfAborted(): void;
  addEventListener(type: 'abort', handler: (event: object) => void, options?: { once?: boolean } | boolean): void;
  removeEventListener(type: 'abort', handler: (event: object) => void): void }
declare abstract class Body { get body(): ReadableStream | null; get bodyUsed(): boolean; text(): Promise<string> }
interface Response extends Body { readonly status: number; readonly headers: Headers; clone(): Response }
interface Request<Cf = unknown> extends Body { readonly url: string; readonly method: string; readonly cf?: Cf }
interface RequestInit<Cf = unknown> { method?: string; headers?: Record<string, string>; body?: string | null; cf?: Cf }
declare class URL { constructor(url: string); readonly origin: string }
declare function fetch(input: Request | string | URL, init?: RequestInit<{ cacheTtl?: number }>): Promise<Response>;
`;

const PLATFORMS: Record<string, { types?: string[]; lib?: string[]; globals?: string }> = {
  node: { types: ['node'] },
  browser: { lib: ['ES2023', 'DOM', 'DOM.Iterable'] },
  worker: { lib: ['ES2023', 'WebWorker'] },
  'node with DOM': { types: ['node'], lib: ['ES2023', 'DOM'] },
  'cloudflare workers': { globals: WORKERS },
};

beforeAll(() => {
  mkdirSync(workshop, { recursive: true });
  writeFileSync(join(workshop, 'package.json'), '{ "type": "module" }');
  const core = join(root, 'packages/sluice/tsconfig.core.json');
  const emitted = tsc(
    '-p',
    core,
    '--emitDeclarationOnly',
    '--outDir',
    join(workshop, 'dist'),
    '--composite',
    'false',
    '--incremental',
    'false',
    '--tsBuildInfoFile',
    'null',
  );
  expect(emitted).toBe('');
  writeFileSync(join(workshop, 'use.ts'), USE);
}, 60_000);

afterAll(() => rmSync(workshop, { recursive: true, force: true }));

test.each(Object.entries(PLATFORMS))(
  'limitedFetch(fetch) has the type of fetch: %s',
  { timeout: 60_000 },
  (name, { types = [], lib = ['ES2023'], globals = '' }) => {
    const id = name.replaceAll(' ', '-');
    writeFileSync(join(workshop, `${id}.d.ts`), globals);
    // `skipLibCheck` would skip our own declarations. It is set only where TypeScript would otherwise check all of Node's.
    const compilerOptions = {
      types,
      lib,
      noEmit: true,
      skipLibCheck: types.length > 0,
      allowImportingTsExtensions: true,
    };
    const config = { extends: '../../tsconfig.base.json', compilerOptions, files: ['use.ts', `${id}.d.ts`] };
    writeFileSync(join(workshop, `tsconfig.${id}.json`), JSON.stringify(config));
    expect(tsc('-p', join(workshop, `tsconfig.${id}.json`))).toBe('');
  },
);
