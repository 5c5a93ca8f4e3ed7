import { expect, test } from 'vitest';
import { barsOf, chartOf } from '../lib/charts.mjs';
import { textOf } from '../lib/pages.mjs';

const RESULTS = `
<!-- speed:start -->
| keys |   hot |
|------|------:|
| a    | 1 (2) |

|            |          fast |     slow |
|------------|--------------:|---------:|
| sluice     | 12.5k (1.0×)  | 3.5M     |
| other, 1.2 | 1,200 (0.1×)  |          |

| drop-in |     µs a call |
|---------|--------------:|
| one     | 1.50 → 0.25   |
| other   |    – → 3      |
<!-- speed:end -->
`;

test('a chart reads integers, thousands and millions from its table', () => {
  expect(barsOf(RESULTS, 'speed', ['fast'])).toEqual([
    { name: 'sluice', series: '', value: 12_500, text: '12.5k (1.0×)' },
    { name: 'other, 1.2', series: '', value: 1200, text: '1,200 (0.1×)' },
  ]);
});

test('a chart draws two columns side by side, and skips empty cells', () => {
  expect(barsOf(RESULTS, 'speed', ['fast', 'slow']).map(({ series, value }) => [series, value])).toEqual([
    ['fast', 12_500],
    ['slow', 3_500_000],
    ['fast', 1200],
  ]);
});

test('a chart draws the figures before and after a change as two bars, and draws neither bar if one of them was not measured', () => {
  expect(barsOf(RESULTS, 'speed', ['µs a call'])).toEqual([
    { name: 'one', series: 'before', value: 1.5, text: '1.50' },
    { name: 'one', series: 'after', value: 0.25, text: '0.25' },
  ]);
});

test('a chart marks the bars of Sluice, whether or not it shows other libraries', () => {
  const kinds = (marker: string) =>
    [...chartOf(marker).matchAll(/class="bar (\w+)"/g)].map((match) => match[1] ?? '');
  expect(kinds('server | one by one | requests')).toEqual(['own', 'own', 'peer', 'bare', 'own', 'peer']);
  expect(new Set(kinds('server | requests/s | requests'))).toEqual(new Set(['own']));
  expect(kinds('scale | all pass | decisions | 16,')).toEqual(['own', 'own', 'own', 'own']);
  expect(kinds('compat | CPU, µs a call | µs').slice(0, 2)).toEqual(['peer', 'own']);
});

test('a chart shows figures in brackets only if its caption explains them', () => {
  const figures = (marker: string) =>
    [...chartOf(marker).matchAll(/class="figure">([^<]*)/g)].map((match) => match[1] ?? '');
  const measured = textOf('docs/benchmarks.md').match(/(?<=<!-- chart: ).+(?= -->)/g) ?? [];
  expect(measured.length).toBeGreaterThan(20);
  for (const marker of measured)
    expect([marker, figures(marker).some((figure) => figure.includes('('))]).toEqual([
      marker,
      marker.includes('in brackets'),
    ]);
});

test('a chart of a single row labels the bars by column', () => {
  const chart = chartOf('memory | alone + beside others | ns | gcra');
  expect([...chart.matchAll(/class="name">([^<]*)/g)].map((match) => match[1])).toEqual([
    'alone',
    'beside others',
  ]);
});

test('every section of the results has a chart', () => {
  const sections = [...textOf('benchmarks/RESULTS.md').matchAll(/<!-- (\w+):start -->/g)].map(
    (match) => match[1],
  );
  const charts = [...textOf('docs/benchmarks.md').matchAll(/<!-- chart: (\w+) \|/g)].map((match) => match[1]);
  expect(sections.length).toBeGreaterThanOrEqual(7);
  expect(new Set(charts)).toEqual(new Set(sections));
});

test('drawing a chart of an unknown column or row throws', () => {
  expect(() => barsOf(RESULTS, 'speed', ['hit'])).toThrow('no column hit in section speed');
  expect(() => chartOf('memory | no such column | ns')).toThrow('no such column');
  expect(() => chartOf('memory | one key | ns | no such row')).toThrow('no such row');
});
