import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What a program says that is given all descriptors it may have, and one after the other gives some back. */
function starved(body: string): unknown {
  const program = `
    import { closeSync, openSync } from 'node:fs';
    import { embeddedFabric, joinMulticast$, rdmacm, umad } from 'rx-ib-multicast';
    const taken = [];
    const takeAll = () => {
      try {
        for (;;) taken.push(openSync('/dev/null'));
      } catch {}
    };
    const codeOf = (run) => {
      try {
        run();
      } catch (error) {
        return error.code;
      }
    };
    const join = (of) => {
      let code;
      joinMulticast$({ group: '239.1.2.3', ...of }).subscribe({ error: (error) => (code = error.code) });
      return code;
    };
    ${body}
  `;
  const { stdout, stderr } = spawnSync(
    'sh',
    ['-c', 'ulimit -n 64 && exec "$0" --input-type=module -e "$1"', process.execPath, program],
    { cwd: root, encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

describe('a process without descriptors', () => {
  it('is told EMFILE at first use, and not that something is missing; later all is there', () => {
    const told = starved(`
      takeAll();
      const first = [codeOf(embeddedFabric), join({ provider: umad() }), join({})];
      for (const fd of taken.splice(0, 20)) closeSync(fd);
      const fabric = embeddedFabric();
      const [{ device }] = fabric.ports();
      await fabric.close();
      console.log(JSON.stringify([...first, device]));
    `);
    expect(told).toEqual(['EMFILE', 'EMFILE', 'EMFILE', 'embedded0']);
  });

  it('is told EMFILE by each provider when the addon is loaded already', () => {
    const told = starved(`
      await embeddedFabric().close();
      takeAll();
      const place = { device: 'mlx5_0', port: 1 };
      console.log(JSON.stringify([umad, rdmacm].flatMap((make) => [
        join({ provider: make() }), join({ provider: make(), ...place }), codeOf(() => make().ports()),
      ])));
    `);
    expect(told).toEqual(Array(6).fill('EMFILE'));
  });
});
