// PathRecord and ServiceRecord read by somebody else: what the codec packs is dissected by tshark,
// and every field that it knows has to be what went in.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseGid } from '../../src/address/gid.js';
import { packPathRecord, unpackPathRecord } from '../../src/codec/path-record.js';
import { packServiceRecord, unpackServiceRecord } from '../../src/codec/service-record.js';
import { anyBytes } from './any-bytes.js';

const ERF = 197;

/** A Get of one attribute in the frame of a capture card: ERF, LRH, BTH, DETH, MAD, checksums. */
function packet(attribute: number, record: Uint8Array): Buffer {
  const mad = Buffer.alloc(256);
  mad.set([1, 3, 2, 0x81]);
  mad.writeUInt16BE(attribute, 16);
  mad.set(record, 56);
  const bytes = Buffer.alloc(16 + 8 + 12 + 8 + 256 + 4 + 2);
  bytes[8] = 21;
  bytes[9] = 4;
  bytes.writeUInt16BE(bytes.length, 10);
  bytes.writeUInt16BE(bytes.length - 16, 14);
  bytes[16 + 1] = 2;
  bytes.writeUInt16BE((8 + 12 + 8 + 256 + 4) / 4, 16 + 4);
  bytes[24] = 0x64;
  bytes.writeUInt16BE(0xffff, 24 + 2);
  bytes.writeUInt32BE(1, 24 + 4);
  bytes.writeUInt32BE(0x80010000, 36);
  bytes.writeUInt32BE(1, 36 + 4);
  mad.copy(bytes, 44);
  return bytes;
}

function pcap(packets: readonly Buffer[]): Buffer {
  const words = (...values: number[]): Buffer => {
    const buffer = Buffer.alloc(values.length * 4);
    values.forEach((value, index) => buffer.writeUInt32BE(value, index * 4));
    return buffer;
  };
  return Buffer.concat([
    words(0xa1b2c3d4, 0x00020004, 0, 0, 65535, ERF),
    ...packets.flatMap((one, index) => [words(0, index, one.length, one.length), one]),
  ]);
}

const gid = (text: string): string => Buffer.from(parseGid(text)).toString('hex');

const PATH = {
  dgid: gid,
  sgid: gid,
  dlid: Number,
  slid: Number,
  rawtraffic: Number,
  flowlabel: Number,
  hoplimit: Number,
  tclass: Number,
  reversible: Number,
  numbpath: Number,
  p_key: Number,
  sl: Number,
  mtuselector: Number,
  mtu: Number,
  rateselector: Number,
  rate: Number,
  packetlifetimeselector: Number,
  packetlifetime: Number,
  preference: Number,
};

function reasonToSkip(): string | undefined {
  return spawnSync('tshark', ['--version']).status === 0
    ? undefined
    : 'tshark is not installed: apt-get install tshark';
}
const skipped = reasonToSkip();

describe.skipIf(skipped !== undefined)(
  `records read by tshark${skipped === undefined ? '' : ` (skipped: ${skipped})`}`,
  () => {
    let directory: string;
    beforeAll(() => {
      directory = mkdtempSync(join(tmpdir(), 'rxib-pcap-'));
    });
    afterAll(() => {
      rmSync(directory, { recursive: true, force: true });
    });

    function dissect(packets: readonly Buffer[], fields: readonly string[]): string[][] {
      const file = join(directory, 'records.pcap');
      writeFileSync(file, pcap(packets));
      const text = execFileSync(
        'tshark',
        ['-r', file, '-T', 'fields', ...fields.flatMap((name) => ['-e', name])],
        { encoding: 'utf8', maxBuffer: 2 ** 26, stdio: ['ignore', 'pipe', 'ignore'] },
      );
      return text
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t'));
    }

    it('every field of a PathRecord is what was packed', () => {
      const records = fc.sample(anyBytes(64), { numRuns: 200, seed: 5 }).map(unpackPathRecord);
      const rows = dissect(
        records.map((record) => packet(0x35, packPathRecord(record))),
        Object.keys(PATH).map((name) => `infiniband.pathrecord.${name}`),
      );
      const selectors = ['greater-than', 'less-than', 'exactly', 'largest-available'];
      expect(
        rows.map((row) => Object.values(PATH).map((parse, index) => parse(row[index] ?? ''))),
      ).toEqual(
        records.map((record) => [
          gid(record.dgid),
          gid(record.sgid),
          record.dlid,
          record.slid,
          Number(record.rawTraffic),
          record.flowLabel,
          record.hopLimit,
          record.trafficClass,
          Number(record.reversible),
          record.numbPath,
          record.pkey,
          record.sl,
          selectors.indexOf(record.mtuSelector),
          record.mtuCode,
          selectors.indexOf(record.rateSelector),
          record.rateCode,
          selectors.indexOf(record.packetLifeTimeSelector),
          record.packetLifeTime,
          record.preference,
        ]),
      );
    });

    it('nothing is malformed', () => {
      const paths = fc.sample(anyBytes(64), { numRuns: 50, seed: 6 }).map(unpackPathRecord);
      const services = fc.sample(anyBytes(176), { numRuns: 50, seed: 7 }).map(unpackServiceRecord);
      const rows = dissect(
        [
          ...paths.map((record) => packet(0x35, packPathRecord(record))),
          ...services.map((record) => packet(0x31, packServiceRecord(record))),
        ],
        ['infiniband.mad.attributeid', '_ws.malformed'],
      );
      expect(rows.map(([attribute]) => Number(attribute))).toEqual([
        ...paths.map(() => 0x35),
        ...services.map(() => 0x31),
      ]);
      expect(rows.map(([, malformed]) => malformed ?? '').join('')).toBe('');
    });
  },
);
