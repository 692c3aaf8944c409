import { TestScheduler } from 'rxjs/testing';
import type { Diagram } from './diagram.js';

const FRAME = 30;
const LANE = 40;
const LABEL = 170;
const MARGIN = 16;
const RADIUS = 12;
const NARROWEST = 560;

const FILLS: Readonly<Record<string, string>> = {
  j: '#bfe8c6',
  r: '#ffd59e',
  t: '#f6b8b1',
  d: '#f6b8b1',
};
const OTHER_FILL = '#c7dcf7';
const HANDLE_FILL = '#dfe3e8';
const INK = '#24292f';
const GREY = '#57606a';
const RED = '#b3261e';

/** What RxJS counts per frame outside of `TestScheduler.run`. */
export const TICKS = TestScheduler.parseMarbles('-x')[0]?.frame ?? 1;

/** What stands at one frame: letters, `#` or `|`. */
interface Mark {
  readonly frame: number;
  readonly mark: string;
}

/** Read by RxJS itself, so that the picture shows what the test asserts. */
export function marksOf(marbles: string): Mark[] {
  return TestScheduler.parseMarbles(marbles, undefined, undefined, false, true).map(
    ({ frame, notification }) => ({
      frame: frame / TICKS,
      mark:
        notification.kind === 'N'
          ? String(notification.value)
          : notification.kind === 'E'
            ? '#'
            : '|',
    }),
  );
}

function spanOf(marbles: string): { from: number; to: number } {
  const span = TestScheduler.parseMarblesAsSubscriptions(marbles, true);
  return {
    from: span.subscribedFrame / TICKS,
    to: span.unsubscribedFrame / TICKS,
  };
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function text(x: number, y: number, content: string, attributes = ''): string {
  return `<text x="${String(x)}" y="${String(y)}" ${attributes}>${escaped(content)}</text>`;
}

function line(
  [x1, y1]: readonly [number, number],
  [x2, y2]: readonly [number, number],
  { stroke = INK, width = 1.5, dashes = 'none' } = {},
): string {
  return `<line x1="${String(x1)}" y1="${String(y1)}" x2="${String(x2)}" y2="${String(y2)}" stroke="${stroke}" stroke-width="${String(width)}" stroke-dasharray="${dashes}"/>`;
}

function circle(x: number, y: number, mark: string): string {
  const fill = FILLS[mark] ?? OTHER_FILL;
  return (
    `<circle cx="${String(x)}" cy="${String(y)}" r="${String(RADIUS)}" fill="${fill}" stroke="${INK}"/>` +
    text(x, y + 4.5, mark, 'text-anchor="middle"')
  );
}

function failure(x: number, y: number): string {
  const style = { stroke: RED, width: 2.5 };
  return line([x - 8, y - 8], [x + 8, y + 8], style) + line([x - 8, y + 8], [x + 8, y - 8], style);
}

function completion(x: number, y: number): string {
  return line([x, y - RADIUS], [x, y + RADIUS], { width: 2 });
}

function unsubscription(x: number, y: number): string {
  return `<circle cx="${String(x)}" cy="${String(y)}" r="4" fill="#ffffff" stroke="${INK}" stroke-width="1.5"/>`;
}

function handle(x: number, y: number, width: number): string {
  return `<rect x="${String(x)}" y="${String(y - 6)}" width="${String(width)}" height="12" rx="2" fill="${HANDLE_FILL}" stroke="${GREY}"/>`;
}

function drawMarks(marks: readonly Mark[], xOf: (frame: number) => number, y: number): string[] {
  /** How many marks stand at a frame already; they are set beside each other. */
  const crowd = new Map<number, number>();
  return marks.map(({ frame, mark }) => {
    const before = crowd.get(frame) ?? 0;
    crowd.set(frame, before + 1);
    const x = xOf(frame) + before * RADIUS * 2;
    if (mark === '|') return completion(x, y);
    return mark === '#' ? failure(x, y) : circle(x, y, mark);
  });
}

/** What the shapes and letters mean, in lines of at most `width`. */
function drawLegend(
  entries: readonly { shape: (x: number, y: number) => string; meaning: string }[],
  width: number,
  top: number,
): { drawn: string[]; bottom: number } {
  let x = MARGIN;
  let y = top;
  const drawn = entries.map(({ shape, meaning }) => {
    const space = 30 + meaning.length * 7.2 + 16;
    if (x > MARGIN && x + space > width) {
      x = MARGIN;
      y += 30;
    }
    const entry = shape(x + RADIUS, y) + text(x + 30, y + 4, meaning, 'class="note"');
    x += space;
    return entry;
  });
  return { drawn, bottom: y + RADIUS };
}

/** The diagram as SVG. The same diagram always gives the same text. */
export function picture(diagram: Diagram): string {
  const { operator, inputs = [], joins, results, legend } = diagram;
  const spans = joins.map(({ span }) => spanOf(span));
  const ends = [
    ...inputs.flatMap(({ marbles }) => marksOf(marbles).map(({ frame }) => frame)),
    ...spans.map(({ to }) => to),
    ...joins.flatMap(({ attempt }, index) =>
      marksOf(attempt).map(({ frame }) => frame + (spans[index]?.from ?? 0)),
    ),
    ...results.flatMap(({ marbles, subscription }) => [
      ...marksOf(marbles).map(({ frame }) => frame),
      ...(subscription === undefined ? [] : [spanOf(subscription).to]),
    ]),
  ].filter(Number.isFinite);
  const frames = Math.max(...ends) + 2;
  const xOf = (frame: number): number => MARGIN + LABEL + frame * FRAME;
  const right = xOf(frames);
  const body: string[] = [];
  let y = MARGIN + LANE / 2;

  const label = (content: string): void => {
    body.push(text(MARGIN, y + 4.5, content));
  };
  const arrow = (from: number, to: number): void => {
    body.push(line([from, y], [to, y]));
  };
  const head = (x: number): void => {
    body.push(line([x - 8, y - 5], [x, y]), line([x - 8, y + 5], [x, y]));
  };

  for (const input of inputs) {
    label(input.label);
    arrow(xOf(0), right);
    head(right);
    body.push(...drawMarks(marksOf(input.marbles), xOf, y));
    y += LANE;
  }
  joins.forEach((join, index) => {
    const { from, to } = spans[index] ?? { from: 0, to: frames };
    const end = Number.isFinite(to) ? xOf(to) : right;
    label(join.label);
    body.push(line([xOf(0), y], [right, y], { stroke: '#d0d7de', dashes: '2 4' }));
    body.push(handle(xOf(from), y, end - xOf(from)));
    const shifted = marksOf(join.attempt).map(({ frame, mark }) => ({ frame: frame + from, mark }));
    body.push(
      ...drawMarks(
        shifted.filter(({ frame }) => frame <= to),
        xOf,
        y,
      ),
    );
    const unheard = drawMarks(
      shifted.filter(({ frame }) => frame > to),
      xOf,
      y,
    );
    if (unheard.length > 0) body.push(`<g opacity="0.4">${unheard.join('')}</g>`);
    y += LANE;
  });

  body.push(
    `<rect x="${String(MARGIN)}" y="${String(y - LANE / 2 + 6)}" width="${String(right - MARGIN)}" height="${String(LANE - 8)}" rx="4" fill="#f6f8fa" stroke="${INK}"/>`,
    text((MARGIN + right) / 2, y + 6, operator, 'text-anchor="middle" class="code"'),
  );
  y += LANE + 8;

  for (const result of results) {
    const marks = marksOf(result.marbles);
    const { from, to } =
      result.subscription === undefined ? { from: 0, to: Infinity } : spanOf(result.subscription);
    const ended = marks.find(({ mark }) => mark === '#' || mark === '|')?.frame ?? Infinity;
    const end = Math.min(to, ended);
    label(result.label);
    arrow(xOf(from), Number.isFinite(end) ? xOf(end) : right);
    if (!Number.isFinite(end)) head(right);
    if (to < ended) body.push(unsubscription(xOf(to), y));
    body.push(...drawMarks(marks, xOf, y));
    y += LANE;
  }

  const has = (mark: string): boolean => results.some(({ marbles }) => marbles.includes(mark));
  const { drawn, bottom } = drawLegend(
    [
      { shape: (x, top) => handle(x - 11, top, 22), meaning: 'handle, from join to free' },
      ...Object.entries(legend).map(([mark, meaning]) => ({
        shape: (x: number, top: number) => circle(x, top, mark),
        meaning,
      })),
      ...(has('#') ? [{ shape: failure, meaning: 'error' }] : []),
      ...(has('|') ? [{ shape: completion, meaning: 'complete' }] : []),
      ...(results.some(({ subscription = '' }) => subscription.includes('!'))
        ? [{ shape: unsubscription, meaning: 'unsubscribed' }]
        : []),
    ],
    Math.max(right, NARROWEST),
    y + 6,
  );
  body.push(line([MARGIN, y - 14], [right, y - 14], { stroke: '#d0d7de', width: 1 }), ...drawn);
  const width = Math.max(right, NARROWEST) + MARGIN;
  const height = bottom + MARGIN;

  const summary = [
    ...inputs.map((input) => `${input.label}: ${input.marbles.trim()}`),
    ...joins.map((join) => `${join.label}: ${join.attempt.trim()}, held ${join.span.trim()}`),
    operator,
    ...results.map((result) => `${result.label}: ${result.marbles.trim()}`),
  ].join('\n');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${String(width)} ${String(height)}" width="${String(width)}" height="${String(height)}" role="img" font-family="Helvetica, Arial, sans-serif" font-size="13" stroke-linecap="round">`,
    `<title>${escaped(operator)}</title>`,
    `<desc>${escaped(summary)}</desc>`,
    `<style>text{fill:${INK}}.code{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:14px}.note{font-size:12px;fill:${GREY}}</style>`,
    `<rect width="100%" height="100%" rx="6" fill="#ffffff"/>`,
    ...body,
    '</svg>',
    '',
  ].join('\n');
}
