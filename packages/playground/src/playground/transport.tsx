/** The playback controls, with which users play, pause and scrub the run and set its speed. */
import { showNumber, showTime } from '../model/format.ts';
import { isPlaying, pause, playhead, position, SPEEDS, scrub, setSpeed, speed, toggle } from './playback.ts';
import { traffic } from './store.ts';

const STEPS = 1000;

export function Transport() {
  const { length } = traffic.value;
  return (
    <section class="transport" aria-label="Playback">
      <div class="transport-controls">
        <button type="button" class="play" aria-label={isPlaying.value ? 'Pause' : 'Play'} onClick={toggle}>
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d={isPlaying.value ? 'M4 3h3v10H4zM9 3h3v10H9z' : 'M4.5 2.5v11L13 8z'} />
          </svg>
        </button>
        <select
          aria-label="Speed"
          value={speed.value}
          onChange={(event) => setSpeed(Number(event.currentTarget.value))}
        >
          {SPEEDS.map((one) => (
            <option key={one} value={one}>
              {showNumber(one)}×
            </option>
          ))}
        </select>
      </div>
      <input
        type="range"
        class="scrubber"
        aria-label="Time"
        min={0}
        max={STEPS}
        step={1}
        value={position.value * STEPS}
        aria-valuetext={showTime(playhead.value, length)}
        onInput={(event) => {
          pause();
          scrub(Number(event.currentTarget.value) / STEPS);
        }}
      />
      <output class="clock">
        {showTime(playhead.value, length)} <small>/ {showTime(length, length)}</small>
      </output>
    </section>
  );
}
