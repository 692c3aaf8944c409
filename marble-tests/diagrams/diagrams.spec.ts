import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect, it } from 'vitest';
import { marbleEqual } from '../../src/testing/marble-equal.js';
import { marbleProvider } from '../../src/testing/marble-provider.js';
import type { Diagram } from './diagram.js';
import { DIAGRAMS } from './diagrams.js';
import { marksOf, picture, TICKS } from './picture.js';

const docs = fileURLToPath(new URL('../../docs/', import.meta.url));
const pictures = join(docs, 'pictures');

function scriptOf({ joins }: Diagram): Record<string, string[]> {
  const script: Record<string, string[]> = {};
  for (const { mgid, attempt } of joins) (script[mgid] ??= []).push(attempt.trim());
  return script;
}

/** Calls `each` with every join and its number among those of its MGID. */
function eachJoin(
  { joins }: Diagram,
  each: (mgid: string, attempt: number, span: string) => void,
): void {
  const counts = new Map<string, number>();
  for (const { mgid, span } of joins) {
    const attempt = counts.get(mgid) ?? 0;
    counts.set(mgid, attempt + 1);
    each(mgid, attempt, span);
  }
}

function expectStreams(diagram: Diagram): void {
  new TestScheduler(marbleEqual).run((helpers) => {
    const provider = marbleProvider(helpers, scriptOf(diagram));
    const streams = diagram.code({
      provider,
      helpers,
      at: (frame, work) => {
        helpers.cold('-'.repeat(frame) + 'x').subscribe(work);
      },
    });
    expect(streams).toHaveLength(diagram.results.length);
    diagram.results.forEach(({ subscription, marbles, error }, index) => {
      helpers
        .expectObservable(streams[index] as Observable<unknown>, subscription)
        .toBe(marbles, diagram.values, error);
    });
    eachJoin(diagram, (mgid, attempt, span) => {
      helpers.expectSubscriptions(provider.spans(mgid, attempt)).toBe(span);
    });
  });
}

/** Promises settle between frames, so the scheduler goes on frame by frame. */
async function expectPromises(diagram: Diagram): Promise<void> {
  const scheduler = new TestScheduler(marbleEqual);
  const atTheEnd: (() => void)[] = [];
  const cold = scheduler.createColdObservable.bind(scheduler) as never;
  const provider = marbleProvider(
    {
      cold,
      expectSubscriptions: (actual) => ({
        toBe: (expected) => {
          atTheEnd.push(() => {
            marbleEqual(actual, expected);
          });
        },
      }),
    },
    scriptOf(diagram),
  );
  const promises = diagram.code({
    provider,
    helpers: { cold },
    at: (frame, work) => scheduler.schedule(work, frame * TICKS),
  });
  expect(promises).toHaveLength(diagram.results.length);
  let now = 0;
  const settled = promises.map(() => [] as { frame: number; mark: unknown }[]);
  promises.forEach((promise, index) => {
    void (promise as Promise<unknown>).then((mark) => settled[index]?.push({ frame: now, mark }));
  });
  const last = Math.max(
    ...diagram.results.flatMap((one) => marksOf(one.marbles).map((m) => m.frame)),
  );
  for (now = 0; now <= last + 10; now += 1) {
    scheduler.maxFrames = now * TICKS;
    scheduler.flush();
    await new Promise(setImmediate);
  }
  diagram.results.forEach(({ marbles }, index) => {
    const expected = marksOf(marbles)
      .filter(({ mark }) => mark !== '|')
      .map(({ frame, mark }) => ({ frame, mark: diagram.values?.[mark] }));
    expect(settled[index]).toEqual(expected);
  });
  eachJoin(diagram, (mgid, attempt, span) => {
    scheduler.expectSubscriptions(provider.spans(mgid, attempt)).toBe(span.trim());
  });
  scheduler.flush();
  for (const check of atTheEnd) check();
}

describe.each(DIAGRAMS)('the diagram $name', (diagram) => {
  it('is what happens', async () => {
    if (diagram.promises) await expectPromises(diagram);
    else expectStreams(diagram);
  });

  // Drawn anew with `npm run diagrams`.
  it('is drawn in docs/pictures', async () => {
    await expect(picture(diagram)).toMatchFileSnapshot(join(pictures, `${diagram.name}.svg`));
  });
});

describe('docs/pictures', () => {
  it('has no other picture, and every picture has its page', () => {
    // The plot is drawn by the benchmark, from what it measures.
    const names = [...DIAGRAMS.map(({ name }) => `${name}.svg`), 'storm.svg'].sort();
    expect(readdirSync(pictures).sort()).toEqual(names);
    const pages = [
      'join-multicast.md',
      'performance.md',
      ...readdirSync(join(docs, 'operators')).map((page) => `operators/${page}`),
    ]
      .map((page) => readFileSync(join(docs, page), 'utf8'))
      .join('\n');
    expect(names.filter((name) => !pages.includes(`pictures/${name}`))).toEqual([]);
  });
});
