import { expect, test } from 'vitest';
import { Book, type Instant, steadily } from './book.ts';

const OPTIONS = { burst: 10, rate: 0.1 };

/** So many in turn, one every `gap` milliseconds, each decided when it was asked. `clock`: what the machine's says then. */
function bookOf(units: number, gap: number, clock = (time: number): number => time): Book {
  const book = new Book(OPTIONS);
  for (let i = 0; i < units; i++) {
    const at: Instant = { steady: i * gap, machine: clock(i * gap) };
    book.add(at, at, 1);
  }
  return book;
}

test('what the bound allows is no excess, and one unit more is one', () => {
  // A burst of ten, and one every ten milliseconds.
  const allowed = (more: number): Book => {
    const book = bookOf(0, 0);
    for (let i = 0; i < 10 + more; i++) book.add(steadily(0), steadily(0), 1);
    for (let i = 1; i < 50; i++) book.add(steadily(10 * i), steadily(10 * i), 1);
    return book;
  };
  expect(allowed(0).excess()).toBe(0);
  expect(allowed(1).excess()).toBeCloseTo(1, 6);
});

test('what passes too often adds up, however long it takes', () => {
  expect(bookOf(500, 9.9).excess()).toBe(0);
  expect(bookOf(500, 9).excess()).toBeCloseTo(500 - 10 - 0.1 * 9 * 499, 6);
});

test('a clock that was set forward or back is not taken for an excess', () => {
  // A burst, and after 50 ms what came back by the clock that the server goes by, which was set meanwhile.
  const passed = (set: number, machine: number): number => {
    const book = new Book(OPTIONS);
    book.add(steadily(0), steadily(0), 10);
    const at = { steady: 50, machine };
    book.add(at, at, (50 + set) * OPTIONS.rate);
    return book.excess();
  };
  expect(passed(0, 50)).toBe(0);
  expect(passed(14, 64)).toBe(0);
  expect(passed(-14, 36)).toBe(0);
  expect(passed(14, 50)).toBeCloseTo(1.4, 6);
  // Set back while an answer was on its way: it may have been decided before or after.
  const back = new Book(OPTIONS);
  back.add({ steady: 0, machine: 0 }, { steady: 100, machine: -14 }, 20);
  expect(back.excess()).toBe(0);
});

test('a store that lost its rows may let a burst more pass, but only while it lost them', () => {
  const twice = (): Book => {
    const book = new Book({ ...OPTIONS, kept: 5 });
    for (const time of [0, 40]) for (let i = 0; i < 10; i++) book.add(steadily(time), steadily(time + 1), 1);
    return book;
  };
  expect(twice().excess()).toBeGreaterThan(5);
  expect(twice().excess([{ from: 10, to: 30 }])).toBe(0);
  expect(twice().excess([{ from: 60, to: 70 }])).toBeGreaterThan(5);
  // What was asked before all that was held is gone says nothing.
  const held = twice();
  for (let i = 0; i < 10; i++) held.add(steadily(33), steadily(34), 1);
  expect(held.excess([{ from: 10, to: 30 }])).toBe(0);
});

test('what is given back may pass once more, and only once', () => {
  const again = (units: number): number => {
    const book = new Book(OPTIONS);
    book.add(steadily(0), steadily(1), 10);
    book.giveBack(2, 3, 4);
    book.add(steadily(4), steadily(5), units);
    return book.excess();
  };
  expect(again(4)).toBe(0);
  expect(again(6)).toBeCloseTo(1.5, 6);
  // Long before the window, it says nothing of it.
  const later = new Book(OPTIONS);
  later.giveBack(0, 1, 4);
  later.add(steadily(100), steadily(100), 14);
  expect(later.excess()).toBeCloseTo(4, 6);
  // One that may still arrive counts.
  const late = new Book(OPTIONS);
  late.giveBack(0, 200, 4);
  late.add(steadily(100), steadily(100), 14);
  expect(late.excess()).toBe(0);
});

test('what could not be known of may pass as well, but not what comes when it is known', () => {
  const book = (unheard: number): Book => {
    const made = bookOf(0, 0);
    made.add(steadily(0), steadily(0), 10);
    made.add(steadily(0), steadily(0), 10, 0, 10);
    made.add(steadily(1), steadily(1), 1, 0, unheard);
    return made;
  };
  expect(book(11).excess()).toBe(0);
  expect(book(0).excess()).toBeCloseTo(10.9, 6);
});

test('a turn that was booked before a loss is not counted after it', () => {
  const book = new Book(OPTIONS);
  book.add(steadily(0), steadily(1), 5, 50);
  book.add(steadily(40), steadily(41), 10, 0);
  expect(book.excess([{ from: 10, to: 30 }])).toBe(0);
});

test('what was given back counts also for what is told of after the book was settled', () => {
  const book = new Book(OPTIONS);
  book.add(steadily(0), steadily(0), 10);
  book.giveBack(101, 102, 10);
  expect(book.excess()).toBe(0);
  // Another process tells late of what it took before and after that.
  for (const time of [100, 103]) book.add(steadily(time), steadily(time), 10);
  expect(book.excess()).toBe(0);
  // Not for ever.
  book.add(steadily(30_000), steadily(30_000), 1);
  expect(book.excess()).toBe(0);
  for (const time of [100, 103]) book.add(steadily(time), steadily(time), 10);
  expect(book.excess()).toBeCloseTo(9.7, 6);
});

test('what passed lately is not judged: of what was given back before it, the news may be on its way', () => {
  const passed = (options: { late?: number }): Book => {
    const book = new Book({ ...OPTIONS, ...options });
    for (const units of [10, 3]) book.add(steadily(0), steadily(0), units);
    return book;
  };
  expect(passed({}).excess([], 1999)).toBe(0);
  expect(passed({}).excess([], 2000)).toBe(3);
  expect(passed({ late: 0 }).excess([], 0)).toBe(3);
});
