/** Tests the limits that requests contain as text. */
import { memory } from 'sluice';
import { manualClock } from 'sluice/testing';
import { describe, expect, test } from 'vitest';
import { openRequestPolicies } from '../../src/core/request-policies.ts';

describe('policies in requests', () => {
  const open = (max: number) => {
    const clock = manualClock();
    const policies = openRequestPolicies(memory({ clock }), max, () => clock.now());
    return { clock, limitOf: (text: string) => policies.limitOf(text) };
  };

  test('are refused unless the server allows them', () => {
    expect(() => open(0).limitOf('10/s')).toThrow('start the server with --request-policies');
  });

  test('share their counts if their texts differ only in whitespace', () => {
    const { limitOf } = open(10);
    void limitOf('2/min burst 2').take('a', {});
    void limitOf(' 2/min   burst 2 ').take('a', {});
    expect(limitOf('2/min burst 2').take('a', {})).toMatchObject({ allowed: false });
    expect(limitOf('3/min').take('a', {})).toMatchObject({ allowed: true });
  });

  test('are bounded in number, and the server does not close a limit opened for them while it may still deny a key', () => {
    const { limitOf, clock } = open(2);
    void limitOf('1/min').take('a', {});
    void limitOf('1/h').take('a', {});
    expect(() => limitOf('5/s')).toThrow('at most 2 different policies');
    // The keys of the first limit are fully replenished, so it can be closed without resetting any of them.
    clock.advance(5 * 60_000);
    expect(limitOf('5/s').take('a', {})).toMatchObject({ allowed: true });
    expect(limitOf('1/h').take('a', {})).toMatchObject({ allowed: false });
    expect(() => limitOf('1/min')).toThrow('at most 2 different policies');
  });

  test('are rejected without closing another limit if the text is invalid or too long', () => {
    const { limitOf, clock } = open(1);
    void limitOf('1/s').take('a', {});
    clock.advance(3_600_000);
    expect(() => limitOf('ten per second')).toThrow('ERR_POLICY_TEXT');
    expect(() => limitOf(Array.from({ length: 50 }, () => '10/s').join(' & '))).toThrow(
      'at most 200 characters',
    );
    expect(limitOf('1/s').take('a', {})).toMatchObject({ allowed: true });
  });
});
