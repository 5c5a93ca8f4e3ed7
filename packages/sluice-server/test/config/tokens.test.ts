/** Tests the format of token files. */
import { describe, expect, test } from 'vitest';
import { parseTokens } from '../../src/config/tokens.ts';

describe('a token file', () => {
  test('contains one token per line, and may contain comments', () => {
    const text = '# ours\nfirst\n\n  second  \r\n#third\n';
    expect(parseTokens(text, 'tokens').map(({ token }) => token)).toEqual(['first', 'second']);
  });

  test('can name a token and restrict it to verbs and limits', () => {
    const line = 's3cret  limits=api,team-*,a%20b%2Cc name=checkout verbs=take,peek';
    expect(parseTokens(line, 'tokens')).toEqual([
      { token: 's3cret', name: 'checkout', verbs: ['take', 'peek'], limits: ['api', 'team-*', 'a b,c'] },
    ]);
  });

  test.each([
    ['s3cret horse', 'unknown word after the token; a token may be followed by name=NAME'],
    ['s3cret verb=take', 'unknown word after the token'],
    ['s3cret =', 'unknown word after the token'],
    ['s3cret verbs=take,tkae', 'unknown verb "tkae"; must be one of take, peek,'],
    ['s3cret verbs=', 'verbs= must not be empty'],
    ['s3cret verbs=take,', 'unknown verb ""'],
    ['s3cret limits=a limits=b', 'limits= occurs twice'],
    ['s3cret limits=a,,b', 'invalid name of a limit: ""'],
    ['s3cret limits=100%', 'invalid name of a limit: "100%"; write %20 for a space'],
  ])(
    'is rejected with a message that names the line and the reason, but never the token: %s',
    (line, reason) => {
      const parse = () => parseTokens(`plain\n${line}`, 'tokens.txt');
      expect(parse).toThrow(`tokens.txt, line 2: ${reason}`);
      expect(parse).not.toThrow('s3cret');
    },
  );
});
