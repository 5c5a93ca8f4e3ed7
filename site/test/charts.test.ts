import { expect, test } from 'vitest';
import { barsOf, chartOf } from '../lib/charts.mjs';

const RESULTS = `
<!-- speed:start -->
| keys |   hot |
|------|------:|
| a    | 1 (2) |

|            |          fast |     slow |
|------------|--------------:|---------:|
| sluice     | 12.5k (1.0×)  | 3.5M     |
| other, 1.2 | 1,200 (0.1×)  |          |
<!-- speed:end -->
`;

test('a bar is what the table says, whole numbers, thousands and millions', () => {
  expect(barsOf(RESULTS, 'speed', ['fast'])).toEqual([
    { name: 'sluice', series: '', value: 12_500, text: '12.5k (1.0×)' },
    { name: 'other, 1.2', series: '', value: 1200, text: '1,200 (0.1×)' },
  ]);
});

test('an empty cell is no bar, and two columns stand beside each other', () => {
  expect(barsOf(RESULTS, 'speed', ['fast', 'slow']).map(({ series, value }) => [series, value])).toEqual([
    ['fast', 12_500],
    ['slow', 3_500_000],
    ['fast', 1200],
  ]);
});

test('a column that is not there ends the build', () => {
  expect(() => barsOf(RESULTS, 'speed', ['hit'])).toThrow('no column hit in section speed');
  expect(() => chartOf('memory | no such column | ns')).toThrow('no such column');
  expect(() => chartOf('memory | hot key | ns | no such row')).toThrow('no such row');
});
