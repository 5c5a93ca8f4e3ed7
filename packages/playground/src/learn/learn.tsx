/** An introduction to the algorithms. */
import { CHAPTERS } from './chapters.ts';
import { Figure } from './figure.tsx';

export function Learn() {
  return (
    <main class="learn">
      <h1>Six ways to say “not so fast”</h1>
      <p class="lead">
        A rate limit answers one question: may this request pass now? The algorithms differ in what they
        remember. The first five algorithms run on the same traffic here: a burst of twelve requests, a pause,
        then two per second. The limit is six requests in five seconds. The pictures are live: press{' '}
        <b>Send</b> to add a request of your own.
      </p>
      {CHAPTERS.map((chapter, index) => (
        <section key={chapter.id} id={chapter.id} aria-labelledby={`${chapter.id}-title`}>
          <div class="words">
            <h2 id={`${chapter.id}-title`}>
              <span class="muted">{index + 1}</span> {chapter.title}
            </h2>
            {chapter.text.map((paragraph) => (
              <p key={paragraph}>{paragraph}</p>
            ))}
            <dl>
              <dt>Good for</dt>
              <dd>{chapter.good}</dd>
              <dt>Beware</dt>
              <dd>{chapter.beware}</dd>
            </dl>
          </div>
          <div>
            <Figure chapter={chapter} />
            <a href={`#playground?${chapter.query}`}>Try {chapter.id} in the playground</a>
          </div>
        </section>
      ))}
      <section class="end">
        <div class="words">
          <h2>Which one?</h2>
          <p>
            If you are not sure, use gcra, with a burst as large as your service can handle. Use a fixed
            window for quotas that users count themselves, a log for limits that must hold exactly, and a
            pacer if you are the caller.
          </p>
          <p>
            Limits can be combined: <code>10/s & 5000/day fixed-window</code> checks both limits together, and
            if one denies, neither is charged.{' '}
            <a href="#playground?limit=2%2Fs+burst+4+%26+20%2F30s+fixed-window&traffic=steady&rate=3">
              See both at work.
            </a>
          </p>
        </div>
      </section>
    </main>
  );
}
