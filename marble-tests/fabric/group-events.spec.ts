// What the subnet administrator reports of groups: the same tests on OpenSM and on the embedded fabric,
// and what only processes of their own can show.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Subscription } from 'rxjs';
import * as page from '../../src/index.js';
import type { EmbeddedFabric } from '../../src/index.js';
import { CliProcess } from '../cli/cli-process.js';
import { buildPeer } from '../conformance/administrator.js';
import { creation, withFabric } from './fabric-test.js';
import { hearingReports, subscriptionsOf } from './reports.js';

/** A host that watches, as `w` from the beginning, and one that joins. */
interface Hosts {
  watch(id: string): Promise<void>;
  /** Resolves once the watcher has said all these words in this order, and nothing else. */
  says(id: string, ...words: string[]): Promise<void>;
  unwatch(id: string): Promise<void>;
  join(mgid: string): Promise<void>;
  leave(mgid: string): Promise<void>;
  /** The watching host's link goes down and comes up again. */
  linkDown(): Promise<void>;
  linkUp(): Promise<void>;
  /** The subnet manager starts anew, and no port event tells of it. */
  restart(): Promise<void>;
}

/** Milliseconds between two looks at what stands at the administrator. */
const AUDIT_MS = 300;
const provider = { auditIntervalMs: AUDIT_MS };

const at = withFabric({ hosts: 4 }, true);

async function simulated(): Promise<Hosts> {
  const fabric = await at.fresh();
  const watcher = await at.watcher('w', provider);
  const joiner = await at.member('Hca3');
  return {
    watch: async (id) => {
      await watcher.command('watch', { id, provider });
    },
    says: async (id, ...words) => {
      await watcher.sequence(id, words, 40_000);
      expect(watcher.words(id)).toEqual(words);
    },
    unwatch: async (id) => {
      await watcher.leave(id);
      await watcher.command('idle');
    },
    join: async (mgid) => {
      await joiner.join(mgid, { record: { mgid, ...creation } });
      await joiner.says((said) => said.id === mgid && said.type === 'joined');
    },
    leave: async (mgid) => {
      await joiner.leave(mgid);
      await joiner.command('idle');
    },
    linkDown: async () => {
      await fabric.console('Unlink "Hca2"[1]');
    },
    linkUp: async () => {
      await fabric.console('ReLink "Hca2"[1]');
      fabric.opensm.sweep();
    },
    restart: () => fabric.opensm.restart(),
  };
}

let embedded: EmbeddedFabric | undefined;
afterEach(async () => {
  await embedded?.close();
  embedded = undefined;
});

function inProcess(): Hosts {
  const fabric = page.embeddedFabric(provider);
  embedded = fabric;
  const client = page.registerSaClient({ provider: fabric, device: 'embedded0', port: 1 });
  const subscriptions = new Map<string, Subscription>();
  const said = new Map<string, string[]>();
  let changed = (): void => undefined;
  const end = async (id: string): Promise<void> => {
    subscriptions.get(id)?.unsubscribe();
    await fabric.idle?.();
  };
  const watch = (id: string): void => {
    const words: string[] = [];
    said.set(id, words);
    subscriptions.set(
      id,
      page.groupEvents$(client).subscribe((event) => {
        const detail = 'mgid' in event ? event.mgid : 'reason' in event ? event.reason : '';
        words.push(`${event.type} ${detail}`.trim());
        changed();
      }),
    );
  };
  watch('w');
  return {
    watch: (id) => {
      watch(id);
      return Promise.resolve();
    },
    says: async (id, ...words) => {
      await new Promise<void>((resolve) => {
        changed = () => {
          if ((said.get(id)?.length ?? 0) >= words.length) resolve();
        };
        changed();
      });
      expect(said.get(id)).toEqual(words);
    },
    unwatch: end,
    join: (mgid) =>
      new Promise((resolve, reject) => {
        const joined$ = page.joinMulticast$({
          provider: fabric,
          device: 'embedded1',
          port: 1,
          record: { mgid, ...creation },
        });
        subscriptions.set(
          mgid,
          joined$.subscribe({
            next: () => {
              resolve();
            },
            error: reject,
          }),
        );
      }),
    leave: end,
    linkDown: () => {
      fabric.portDown('embedded0');
      return Promise.resolve();
    },
    linkUp: () => {
      fabric.portUp('embedded0');
      return Promise.resolve();
    },
    restart: () => {
      fabric.restartSm();
      return Promise.resolve();
    },
  };
}

describe.each([
  ['OpenSM', simulated],
  ['the embedded fabric', () => Promise.resolve(inProcess())],
])('%s', (_name, start) => {
  it('tells of groups created and deleted, until nobody watches', async () => {
    const hosts = await start();
    await hosts.says('w', 'subscribed');
    await hosts.join('ff12:cafe::1');
    await hosts.join('ff12:cafe::2');
    await hosts.leave('ff12:cafe::1');
    const words = [
      'subscribed',
      'created ff12:cafe::1',
      'created ff12:cafe::2',
      'deleted ff12:cafe::1',
    ];
    await hosts.says('w', ...words);
    await hosts.unwatch('w');
    await hosts.leave('ff12:cafe::2');
    // Whoever watches next hears of what comes then only, and the first hears nothing any more.
    await hosts.watch('x');
    await hosts.says('x', 'subscribed');
    await hosts.join('ff12:cafe::3');
    await hosts.says('x', 'subscribed', 'created ff12:cafe::3');
    await hosts.says('w', ...words);
    await hosts.unwatch('x');
    await hosts.leave('ff12:cafe::3');
  });

  it('tells two watchers of one port, and the second when the first has gone', async () => {
    const hosts = await start();
    await hosts.watch('x');
    await hosts.says('w', 'subscribed');
    await hosts.says('x', 'subscribed');
    await hosts.join('ff12:cafe::1');
    await hosts.says('w', 'subscribed', 'created ff12:cafe::1');
    await hosts.unwatch('w');
    await hosts.leave('ff12:cafe::1');
    await hosts.says('x', 'subscribed', 'created ff12:cafe::1', 'deleted ff12:cafe::1');
    await hosts.says('w', 'subscribed', 'created ff12:cafe::1');
    await hosts.unwatch('x');
  });

  it('subscribes anew when the link was down', async () => {
    const hosts = await start();
    await hosts.says('w', 'subscribed');
    await hosts.linkDown();
    await hosts.says('w', 'subscribed', 'lost port-error');
    await hosts.linkUp();
    await hosts.says('w', 'subscribed', 'lost port-error', 'subscribed');
    await hosts.join('ff12:cafe::1');
    await hosts.says('w', 'subscribed', 'lost port-error', 'subscribed', 'created ff12:cafe::1');
    await hosts.unwatch('w');
    await hosts.leave('ff12:cafe::1');
  });

  it('subscribes again at a subnet manager that has restarted unseen', async () => {
    const hosts = await start();
    await hosts.says('w', 'subscribed');
    await hosts.restart();
    // Nothing tells when that is done, so groups are made until one of them is told.
    let told = false;
    for (let n = 1; !told && n <= 20; n += 1) {
      const mgid = `ff12:cafe::${String(n)}`;
      await hosts.join(mgid);
      await hosts.leave(mgid);
      told = await hosts.says('w', 'subscribed').then(
        () => false,
        () => true,
      );
      if (!told) await new Promise((resolve) => setTimeout(resolve, AUDIT_MS));
    }
    expect(told).toBe(true);
    await hosts.unwatch('w');
  });
});

describe('processes at OpenSM', () => {
  beforeAll(() => {
    buildPeer();
  }, 300_000);

  it('renews after another subnet manager has taken over', async () => {
    const fabric = await at.fresh();
    const standby = await fabric.startStandby('Hca4');
    const watcher = await at.watcher('w');
    await fabric.opensm.kill();
    await standby.master();
    await watcher.sequence('w', ['subscribed', 'lost sm-change', 'subscribed'], 40_000);
    const joiner = await at.member('Hca3');
    const mgid = 'ff12:cafe::1';
    await joiner.join('a', { record: { mgid, ...creation } });
    await watcher.sequence('w', ['lost sm-change', 'subscribed', `created ${mgid}`]);
    await joiner.leave('a');
    await watcher.sequence('w', [`created ${mgid}`, `deleted ${mgid}`]);
    await watcher.leave('w');
    expect(await watcher.finish()).toMatchObject({ code: 0, signal: null });
    await joiner.finish();
  });

  it('leaves no subscription behind: unsubscribed, at process.exit(), with a worker', async () => {
    const fabric = await at.fresh();
    const env = fabric.env('Hca2');
    const killed = await at.watcher('w');
    killed.signal('SIGKILL');
    await killed.ended;
    await fabric.disconnect(killed.pid);
    // So that the others' absence says something.
    expect(await subscriptionsOf(env)).toEqual([true, true]);

    const leaving = await at.watcher('w');
    await leaving.leave('w');
    expect(await leaving.finish()).toMatchObject({ code: 0, signal: null });
    expect(await subscriptionsOf(env)).toEqual([false, false]);

    const exiting = await at.watcher('w');
    exiting.send('exit', { code: 7 });
    expect(await exiting.ended).toMatchObject({ code: 7, signal: null });
    expect(await subscriptionsOf(env)).toEqual([false, false]);

    const threaded = await at.watcher('w');
    await threaded.leave('w');
    await threaded.command('worker', { name: 't' });
    await threaded.says((said) => said.type === 'ready' && said.worker === 't');
    await threaded.command('inWorker', { name: 't', command: { do: 'watch', id: 't' } });
    await threaded.sequence('t', ['subscribed']);
    await threaded.command('terminate', { name: 't' });
    expect(await threaded.finish()).toMatchObject({ code: 0, signal: null });
    expect(await subscriptionsOf(env)).toEqual([false, false]);
  });

  it('is a verb of the command line, ended by SIGTERM', async () => {
    const fabric = await at.fresh();
    const env = fabric.env('Hca2');
    const watching = new CliProcess(['events', '--json'], hearingReports(env));
    try {
      await watching.lines(1);
      const joiner = await at.member('Hca3');
      const mgid = 'ff12:cafe::1';
      await joiner.join('a', { record: { mgid, ...creation } });
      await watching.lines(2);
      await joiner.leave('a');
      await watching.lines(3);
      expect(watching.events).toEqual([
        { type: 'subscribed' },
        { type: 'created', mgid },
        { type: 'deleted', mgid },
      ]);
      watching.signal('SIGTERM');
      expect(await watching.ended).toMatchObject({ code: 143, stderr: '' });
      expect(await subscriptionsOf(env)).toEqual([false, false]);
    } finally {
      watching.kill();
    }
  });
});
