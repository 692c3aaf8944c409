import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync, readdirSync } from 'node:fs';
import { inspect } from 'node:util';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { DIAGNOSTIC_CHANNELS } from '../../src/errors/diagnostics.js';
import { joinMulticast$ } from '../../src/observable/join-multicast.js';
import { queryMembers$ } from '../../src/observable/query.js';
import { embeddedFabric } from '../../src/providers/embedded-fabric.js';

// What docs/security.md promises and no other test looks at.

const native = fileURLToPath(new URL('../../native', import.meta.url));
const rooms = ['addon', 'core', 'codec', 'sa', 'embedded', 'rdma', 'umad', 'rdmacm'];
const sources = rooms.flatMap((room) =>
  readdirSync(`${native}/${room}`).map((name) => ({
    name: `${room}/${name}`,
    text: readFileSync(`${native}/${room}/${name}`, 'utf8'),
  })),
);

describe('libraries', () => {
  it('are opened by soname only, in one place, and nothing of the environment is read', () => {
    const opening = sources.filter(({ text }) => text.includes('dlopen('));
    // The addon's own file is opened once more, to keep it in the process.
    expect(opening.map(({ name }) => name)).toEqual(['addon/module.cc', 'rdma/shared_library.cc']);
    const named = sources
      .filter(({ name }) => !name.startsWith('rdma/shared_library'))
      .flatMap(({ text }) =>
        [...text.matchAll(/SharedLibrary::open\(([^,)]*)/g)].map((found) => found[1]),
      );
    expect(named.sort()).toEqual(['"libibumad.so.3"', '"libibverbs.so.1"', '"librdmacm.so.1"']);
    expect(sources.filter(({ text }) => text.includes('getenv')).map(({ name }) => name)).toEqual(
      [],
    );
  });
});

describe('keys', () => {
  const theirs = 0x7a5e1235;
  const ours = 0x6b4d2c13;
  const smKey = 0x1122334455667788n;

  it('are in no error and in no diagnostics message', async () => {
    const said: string[] = [];
    const note = (message: unknown): void => {
      said.push(inspect(message, { depth: 9 }));
    };
    for (const name of DIAGNOSTIC_CHANNELS) subscribe(name, note);
    try {
      const fabric = embeddedFabric({ clock: 'manual', requestTimeoutMs: 300 });
      const creation = { pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };
      const told: string[] = [];
      const join = (mgid: string, qkey: number) =>
        joinMulticast$({ provider: fabric, record: { mgid, qkey, ...creation } }).subscribe({
          next: (event) => told.push(event.type),
          // Twice: as it is printed, and with whatever hides from that.
          error: (error: unknown) =>
            said.push(inspect(error, { depth: 9, showHidden: true }), JSON.stringify(error)),
        });
      join('ff12::1', theirs);
      fabric.tick(0);
      join('ff12::1', ours);
      fabric.tick(0);
      // A lost join, a late success, a compensating leave, a reset.
      fabric.loseReplies(3, 'set');
      join('ff12::2', ours);
      fabric.tick(5000);
      fabric.takeover(9);
      fabric.killSm();
      queryMembers$('ff12::1', { provider: fabric, smKey }).subscribe({
        error: (error: unknown) => said.push(inspect(error, { depth: 9, showHidden: true })),
      });
      fabric.tick(5000);
      expect(told).toEqual(['joined', 'error', 'error', 'reset']);
      expect(said.length).toBeGreaterThan(6);
      const all = said.join('\n');
      for (const key of [theirs, ours, smKey]) {
        expect(all).not.toContain(String(key));
        expect(all.toLowerCase()).not.toContain(key.toString(16));
      }
      await fabric.close();
    } finally {
      for (const name of DIAGNOSTIC_CHANNELS) unsubscribe(name, note);
    }
  });
});
