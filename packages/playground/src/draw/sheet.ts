/** A canvas with the resolution of its screen, drawn at most once per frame. */

export interface Sheet {
  readonly context: CanvasRenderingContext2D;
  /** The size in CSS pixels. */
  readonly width: number;
  readonly height: number;
  readonly scale: number;
}

/** Fits the canvas to its box. Returns undefined while the box has no size. */
export function sheetOf(canvas: HTMLCanvasElement): Sheet | undefined {
  const { clientWidth: width, clientHeight: height } = canvas;
  const context = canvas.getContext('2d');
  if (width === 0 || height === 0 || context === null) return undefined;
  const scale = window.devicePixelRatio || 1;
  const [pixelWidth, pixelHeight] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== pixelWidth || canvas.height !== pixelHeight) {
    canvas.width = pixelWidth;
    canvas.height = pixelHeight;
  }
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return { context, width, height, scale };
}

const waiting = new Set<() => void>();
let isAsked = false;

/** Calls `draw` before the next frame. Several calls with the same function draw only once. */
export function soon(draw: () => void): void {
  waiting.add(draw);
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    const now = [...waiting];
    waiting.clear();
    for (const one of now) one();
  });
}
