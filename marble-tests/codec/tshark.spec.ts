// The wire code read by somebody else: MADs of our codec are dissected by tshark, and every field
// has to be what went in.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const NATIVE_TESTS = fileURLToPath(new URL('../../native/test', import.meta.url));
// A build of its own: the plain one may be under way at the same time.
const WRITER = join(NATIVE_TESTS, 'build/pcap/write-pcap');

type Sample = Record<string, number | string>;

const number = (text: string): number => Number(text);
const long = (text: string): string => BigInt(text).toString();

/** An IPv6 text, dotted or not, as 32 hexadecimal digits. */
function gid(text: string): string {
  const canonical = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const groups = (part: string | undefined): string[] => (part ? part.split(':') : []);
  const left = groups(head);
  const right = groups(tail);
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  return [...left, ...Array<string>(zeros).fill('0'), ...right]
    .map((group) => group.padStart(4, '0'))
    .join('');
}

/** tshark's name of each value, and how its text is read. */
const FIELDS: Record<string, [string, (text: string) => number | string]> = {
  method: ['infiniband.mad.method', number],
  status: ['infiniband.mad.status', number],
  transactionId: ['infiniband.mad.transactionid', long],
  attributeId: ['infiniband.mad.attributeid', number],
  attributeModifier: ['infiniband.mad.attributemodifier', number],
  smKey: ['infiniband.sa.smkey', long],
  attributeOffset: ['infiniband.sa.attributeoffset', number],
  componentMask: ['infiniband.sa.componentmask', long],
  mgid: ['infiniband.mcmemberrecord.mgid', gid],
  portGid: ['infiniband.mcmemberrecord.portgid', gid],
  qkey: ['infiniband.mcmemberrecord.q_key', number],
  mlid: ['infiniband.mcmemberrecord.mlid', number],
  mtuSelector: ['infiniband.mcmemberrecord.mtuselector', number],
  mtu: ['infiniband.mcmemberrecord.mtu', number],
  trafficClass: ['infiniband.mcmemberrecord.tclass', number],
  pkey: ['infiniband.mcmemberrecord.p_key', number],
  rateSelector: ['infiniband.mcmemberrecord.rateselector', number],
  rate: ['infiniband.mcmemberrecord.rate', number],
  packetLifeTimeSelector: ['infiniband.mcmemberrecord.packetlifetimeselector', number],
  packetLifeTime: ['infiniband.mcmemberrecord.packetlifetime', number],
  sl: ['infiniband.mcmemberrecord.sl', number],
  flowLabel: ['infiniband.mcmemberrecord.flowlabel', number],
  hopLimit: ['infiniband.mcmemberrecord.hoplimit', number],
  scope: ['infiniband.mcmemberrecord.scope', number],
  joinState: ['infiniband.mcmemberrecord.joinstate', number],
  proxyJoin: ['infiniband.mcmemberrecord.proxyjoin', number],
};

function reasonToSkip(): string | undefined {
  if (spawnSync('tshark', ['--version']).status !== 0) {
    return 'tshark is not installed: apt-get install tshark';
  }
  return spawnSync('make', ['--version']).status === 0 ? undefined : 'make is not installed';
}

const skipped = reasonToSkip();

describe.skipIf(skipped !== undefined)(
  `MADs read by tshark${skipped === undefined ? '' : ` (skipped: ${skipped})`}`,
  () => {
    let directory: string;

    beforeAll(() => {
      execFileSync('make', ['-C', NATIVE_TESTS, 'VARIANT=pcap', 'ROOMS=core codec', WRITER], {
        stdio: 'pipe',
      });
      directory = mkdtempSync(join(tmpdir(), 'rxib-pcap-'));
    }, 120_000);

    afterAll(() => {
      rmSync(directory, { recursive: true, force: true });
    });

    function write(seed: number, count: number): { pcap: string; samples: Sample[] } {
      const pcap = join(directory, `${seed}.pcap`);
      const json = join(directory, `${seed}.json`);
      execFileSync(WRITER, [String(seed), String(count), pcap, json]);
      return { pcap, samples: JSON.parse(readFileSync(json, 'utf8')) as Sample[] };
    }

    function read(pcap: string): Sample[] {
      const names = Object.values(FIELDS).flatMap(([name]) => ['-e', name]);
      const text = execFileSync('tshark', ['-r', pcap, '-T', 'fields', ...names], {
        encoding: 'utf8',
        maxBuffer: 2 ** 26,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      return text
        .trimEnd()
        .split('\n')
        .map((line) => {
          const columns = line.split('\t');
          return Object.fromEntries(
            Object.entries(FIELDS).map(([name, [, parse]], index) => [
              name,
              parse(columns[index] ?? ''),
            ]),
          );
        });
    }

    it.each([1, 20260701])('every field of every MAD is what was packed (seed %i)', (seed) => {
      const { pcap, samples } = write(seed, 500);
      expect(samples).toHaveLength(500);
      expect(read(pcap)).toEqual(samples);
    });

    it('tshark finds nothing malformed', () => {
      const { pcap } = write(3, 200);
      const malformed = execFileSync('tshark', ['-r', pcap, '-Y', '_ws.malformed'], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      expect(malformed).toBe('');
    });
  },
);
