/** The Live part: a view of the running server. */
import { useEffect, useMemo } from 'preact/hooks';
import { showNumber, showDuration } from '../model/format.ts';
import { follow } from '../ui/follow.ts';
import { Scroll } from '../ui/scroll.tsx';
import type { Point } from './series.ts';
import { FirstRequest } from './first-request.tsx';
import { KeyPanel } from './key-panel.tsx';
import { RatesChart } from './rates-chart.tsx';
import { SampleControl } from './sample-control.tsx';
import { stopSample } from './sample-traffic.ts';
import type { Connection } from './stream.ts';
import { tryLink } from './try-link.ts';
import { TokenField } from './token-field.tsx';
import {
  askable,
  config,
  connection,
  seriesFor,
  heard,
  limitNames,
  RANGES,
  range,
  snapshot,
  startWatching,
} from './watch.ts';
import { followWhyLink, whyLink } from './why-link.ts';

export function Live() {
  useEffect(startWatching, []);
  useEffect(() => stopSample, []);
  const { kind } = connection.value;
  const hasHeard = config.value !== undefined;
  return (
    <main class="live">
      <h1 class="hidden">Live: the running server</h1>
      <div class="live-top">
        <Status connection={connection.value} />
        {hasHeard && kind === 'open' && <SampleControl />}
      </div>
      {kind === 'refused' && <TokenForm />}
      {kind === 'absent' && !hasHeard && <Absent />}
      {hasHeard && (
        <>
          <Now />
          <Limits />
          <div class="pair">
            <TopDenied />
            <KeyPanel />
          </div>
          <Configuration />
        </>
      )}
    </main>
  );
}

const WORDS: Readonly<Record<Connection['kind'], string>> = {
  connecting: 'Connecting',
  open: 'Connected',
  lost: 'Connection lost, trying again',
  refused: 'The server requires a token',
  absent: 'No server found',
};

function Status({ connection: { kind, ...more } }: { readonly connection: Connection }) {
  const loaded = config.value;
  return (
    <p class="status" role="status" data-kind={kind}>
      <i aria-hidden="true" /> {WORDS[kind]}
      {'why' in more && <span class="muted">: {more.why}</span>}
      {kind === 'open' && loaded !== undefined && (
        <span class="muted">
          {' '}
          · sluice {loaded.version}, up since {new Date(loaded.startedAt).toLocaleString()}
          {loaded.shadow && ', in shadow mode: no request is denied'}
        </span>
      )}
    </p>
  );
}

function Absent() {
  return (
    <section class="card">
      <h2>This page is not served by a Sluice server</h2>
      <p>Start a server and open the address that it prints. Its Live page shows what its limits do.</p>
      <pre>
        <code>npx sluice serve --config limits.yaml</code>
      </pre>
    </section>
  );
}

function TokenForm() {
  return (
    <section class="card">
      <TokenField label="Token" />
    </section>
  );
}

function perSecond(value: number | undefined): string {
  return value === undefined ? '–' : `${showNumber(Math.round(value * 10) / 10)}/s`;
}

function last(limit: string): Point | undefined {
  follow(heard);
  return seriesFor(limit).at(-1);
}

function Now() {
  const { latency, store } = snapshot.value ?? {};
  const all = last('');
  const millis = (value: number | null | undefined) => (value == null ? '–' : `${showNumber(value)} ms`);
  const isWell = store === undefined || (store.up && store.breaker === 'closed');
  return (
    <section class="card now" aria-label="Now">
      <div class="now-chart">
        <Ranges />
        <RatesChart limit="" isLarge />
        <Quiet />
      </div>
      <dl class="stats">
        <Fact name="Allowed" value={perSecond(all?.allowed)} tone="admitted" />
        {config.value?.shadow === true ? (
          <Fact name="Would be denied" value={perSecond(all?.shadowed)} />
        ) : (
          <Fact name="Denied" value={perSecond(all?.denied)} tone="denied" />
        )}
        <Fact name="Near the limit" value={perSecond(all?.near)} />
        <Fact name="Latency p50" value={millis(latency?.p50)} />
        <Fact name="Latency p99" value={millis(latency?.p99)} />
        <Fact
          name={`Store${store === undefined ? '' : `: ${store.kind}`}`}
          value={store === undefined ? '–' : store.up ? 'up' : 'down'}
          tone={isWell ? '' : 'denied'}
        />
        <Fact name="Breaker" value={store?.breaker ?? '–'} tone={isWell ? '' : 'denied'} />
        <Fact name="Store p99" value={millis(store?.p99)} />
        <Fact
          name="Faults, fallbacks"
          value={store === undefined ? '–' : `${showNumber(store.faults)}, ${showNumber(store.fallbacks)}`}
        />
      </dl>
    </section>
  );
}

/** Chooses how much of the past the charts show. */
function Ranges() {
  return (
    <fieldset class="ranges">
      <legend class="hidden">Time range</legend>
      {(Object.keys(RANGES) as (keyof typeof RANGES)[]).map((name) => (
        <label key={name}>
          <input
            type="radio"
            name="range"
            checked={range.value === name}
            onChange={() => {
              range.value = name;
            }}
          />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

/** Says what to do while the chart is empty. */
function Quiet() {
  follow(heard);
  const all = seriesFor('');
  if (all.length === 0 || all.some(({ allowed, denied, shadowed }) => allowed + denied + shadowed > 0))
    return null;
  return (
    <p class="quiet-note muted">
      No requests in the last hour.
      <FirstRequest />
    </p>
  );
}

function Fact({
  name,
  value,
  tone = '',
}: {
  readonly name: string;
  readonly value: string;
  readonly tone?: string;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={tone}>{value}</dd>
    </div>
  );
}

function Limits() {
  const loaded = new Map(config.value?.limits.map((limit) => [limit.name, limit]));
  return (
    <section class="card">
      <h2>Limits</h2>
      <Scroll label="Limits">
        <table class="wide">
          <thead>
            <tr>
              <th scope="col">limit</th>
              <th scope="col" class="policies">
                policies
              </th>
              <th scope="col" class="traffic">
                traffic
              </th>
              <th scope="col">allowed</th>
              <th scope="col">denied</th>
              <th scope="col">near</th>
            </tr>
          </thead>
          <tbody>
            {limitNames.value.map((name) => {
              const now = last(name);
              const limit = loaded.get(name);
              return (
                <tr key={name}>
                  <th scope="row">
                    <LimitName name={name} policies={limit?.policies} />
                    {limit?.shadow === true && <small class="muted"> shadow</small>}
                    <code class="under">{limit?.policies}</code>
                  </th>
                  <td class="policies">
                    <code>{limit?.policies ?? '–'}</code>
                  </td>
                  <td class="traffic">
                    <RatesChart limit={name} />
                  </td>
                  <td class="admitted">{perSecond(now?.allowed ?? 0)}</td>
                  {limit?.shadow === true ? (
                    <td class="muted">would be {perSecond(now?.shadowed ?? 0)}</td>
                  ) : (
                    <td class={(now?.denied ?? 0) > 0 ? 'denied' : 'muted'}>{perSecond(now?.denied ?? 0)}</td>
                  )}
                  <td>{perSecond(now?.near ?? 0)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

/** The name of a limit. It is a link to the playground if the playground can show the limit. */
function LimitName({ name, policies }: { readonly name: string; readonly policies: string | undefined }) {
  const link = useMemo(() => (policies === undefined ? undefined : tryLink(policies)), [policies]);
  if (link === undefined) return <>{name}</>;
  return (
    <a href={link} title="Open in the playground">
      {name}
    </a>
  );
}

/** The number of keys for which space is reserved. */
const MOST_DENIED = 8;

function TopDenied() {
  const top = snapshot.value?.topDenied ?? [];
  return (
    <section class="card">
      <h2>{config.value?.shadow === true ? 'Keys that would be denied most' : 'Most denied keys'}</h2>
      <ol class="top-denied">
        {top.length === 0 && <li class="muted">None so far.</li>}
        {top.slice(0, MOST_DENIED).map(({ limit, key, denied }) => (
          <li key={`${limit} ${key}`}>
            {askable.value.has(limit) ? (
              <WhyLink limit={limit} name={key} />
            ) : (
              <span>
                <code>{key}</code> <span class="muted">{limit}</span>
              </span>
            )}
            <b class="denied">{showNumber(denied)}</b>
          </li>
        ))}
      </ol>
    </section>
  );
}

function WhyLink({ limit, name }: { readonly limit: string; readonly name: string }) {
  const href = whyLink(limit, name);
  return (
    <a
      href={href}
      onClick={() => {
        // The browser ignores a link to the current URL.
        if (location.hash === href) followWhyLink(href.split('?')[1] ?? '');
      }}
    >
      <code>{name}</code> <span class="muted">{limit}</span> <span class="why-word">Why?</span>
    </a>
  );
}

function Configuration() {
  follow(heard);
  const loaded = config.value;
  if (loaded === undefined) return null;
  const age = Math.max(0, (snapshot.value?.at ?? loaded.loadedAt) - loaded.loadedAt);
  return (
    <section class="card">
      <h2>Configuration</h2>
      <p>
        <code>{loaded.source}</code>, {loaded.limits.length} {loaded.limits.length === 1 ? 'limit' : 'limits'}
        , loaded {showDuration(Math.round(age / 1000) * 1000)} ago{' '}
        <span class="muted">({new Date(loaded.loadedAt).toLocaleString()})</span>
      </p>
      {loaded.error !== null && (
        <p class="denied" role="alert">
          The new file is invalid; keeping the previous configuration: <code>{loaded.error}</code>
        </p>
      )}
    </section>
  );
}
