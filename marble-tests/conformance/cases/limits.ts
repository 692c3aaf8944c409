import { create, join } from '../step.js';
import type { ConformanceCase, Fields, PortName } from '../step.js';

/** Created by a port of 2048 bytes and 10 Gb/s, or of 2.5 Gb/s for D; refused without `answered`. */
function limit(
  name: string,
  fields: Fields,
  answered: Fields | undefined,
  { by = 'A', measured }: { by?: PortName; measured?: string } = {},
): ConformanceCase {
  const request = create(by, fields);
  return {
    statement: 'o15-0.1.8',
    name: `${name}${by === 'D' ? ', by a port of 2.5 Gb/s' : ''}`,
    steps: [answered === undefined ? request.refused('REQ_INVALID') : request.gives(answered)],
    ...(measured === undefined ? {} : { measured }),
  };
}

const DEFAULT_COMPARED =
  'the default is taken, then compared with what stands in the record, which is 0 here';

/** o15-0.1.8: MTU, rate and packet lifetime by each selector. */
export const limits: readonly ConformanceCase[] = [
  limit('MTU exactly 256', { mtuSelector: 'exactly', mtu: 256 }, { mtu: 256 }),
  limit('MTU exactly 512', { mtuSelector: 'exactly', mtu: 512 }, { mtu: 512 }),
  limit('MTU exactly 2048', { mtuSelector: 'exactly', mtu: 2048 }, {}),
  limit('MTU exactly 4096', { mtuSelector: 'exactly', mtu: 4096 }, undefined),
  limit('MTU greater than 1024', { mtuSelector: 'greater-than', mtu: 1024 }, { mtu: 2048 }),
  limit('MTU greater than 256', { mtuSelector: 'greater-than', mtu: 256 }, { mtu: 2048 }),
  limit('MTU greater than 2048', { mtuSelector: 'greater-than', mtu: 2048 }, undefined),
  limit('MTU greater than 4096', { mtuSelector: 'greater-than', mtu: 4096 }, undefined),
  limit('MTU less than 2048', { mtuSelector: 'less-than', mtu: 2048 }, { mtu: 1024 }),
  limit('MTU less than 4096', { mtuSelector: 'less-than', mtu: 4096 }, { mtu: 2048 }),
  limit('MTU less than 512', { mtuSelector: 'less-than', mtu: 512 }, { mtu: 256 }),
  limit('MTU less than 256', { mtuSelector: 'less-than', mtu: 256 }, undefined),
  limit('the largest MTU, beside 256', { mtuSelector: 'largest-available', mtu: 256 }, {}),
  limit('the largest MTU, beside 4096', { mtuSelector: 'largest-available', mtu: 4096 }, {}),
  limit('MTU code 0', { mtuSelector: 'exactly', mtuCode: 0 }, undefined),
  limit('MTU code 6', { mtuSelector: 'exactly', mtuCode: 6 }, undefined),
  limit('MTU code 6 beside "largest"', { mtuSelector: 'largest-available', mtuCode: 6 }, undefined),
  limit('MTU code 6 without a selector', { mtuCode: 6 }, {}),
  limit(
    'MTU 4096 without a selector',
    { mtu: 4096 },
    {},
    {
      measured: 'a value without its selector is ignored',
    },
  ),
  limit(
    '"greater than" without an MTU',
    { mtuSelector: 'greater-than' },
    {},
    {
      measured: DEFAULT_COMPARED,
    },
  ),
  limit('"exactly" without an MTU', { mtuSelector: 'exactly' }, undefined, {
    measured: DEFAULT_COMPARED,
  }),
  limit('"less than" without an MTU', { mtuSelector: 'less-than' }, undefined, {
    measured: DEFAULT_COMPARED,
  }),
  limit('"largest" without an MTU', { mtuSelector: 'largest-available' }, {}),

  limit('rate exactly 2.5', { rateSelector: 'exactly', rate: 2.5 }, { rate: 2.5 }),
  limit(
    'rate exactly 5, whose code is above that of 10',
    { rateSelector: 'exactly', rate: 5 },
    { rate: 5 },
  ),
  limit('rate exactly 10', { rateSelector: 'exactly', rate: 10 }, {}),
  limit('rate exactly 14', { rateSelector: 'exactly', rate: 14 }, undefined),
  limit('rate exactly 20', { rateSelector: 'exactly', rate: 20 }, undefined),
  limit('rate greater than 2.5', { rateSelector: 'greater-than', rate: 2.5 }, { rate: 10 }),
  limit('rate greater than 5', { rateSelector: 'greater-than', rate: 5 }, { rate: 10 }),
  limit('rate greater than 10', { rateSelector: 'greater-than', rate: 10 }, undefined),
  limit('rate greater than 30', { rateSelector: 'greater-than', rate: 30 }, undefined),
  limit('rate less than 10', { rateSelector: 'less-than', rate: 10 }, { rate: 5 }),
  limit('rate less than 14', { rateSelector: 'less-than', rate: 14 }, { rate: 10 }),
  limit('rate less than 600', { rateSelector: 'less-than', rate: 600 }, { rate: 10 }),
  limit('rate less than 5', { rateSelector: 'less-than', rate: 5 }, { rate: 2.5 }),
  limit('rate less than 2.5', { rateSelector: 'less-than', rate: 2.5 }, undefined),
  limit('the largest rate, beside 2.5', { rateSelector: 'largest-available', rate: 2.5 }, {}),
  limit('the largest rate, beside 300', { rateSelector: 'largest-available', rate: 300 }, {}),
  limit('rate code 0', { rateSelector: 'exactly', rateCode: 0 }, undefined),
  limit('rate code 1', { rateSelector: 'less-than', rateCode: 1 }, undefined),
  limit(
    'rate 800, which is newer than OpenSM',
    { rateSelector: 'less-than', rate: 800 },
    undefined,
    {
      measured: 'rates from 800 Gb/s are unknown to this release',
    },
  ),
  limit('rate code 63', { rateSelector: 'largest-available', rateCode: 63 }, undefined),
  limit(
    'rate 20 without a selector',
    { rate: 20 },
    {},
    {
      measured: 'a value without its selector is ignored',
    },
  ),
  limit(
    '"greater than" without a rate',
    { rateSelector: 'greater-than' },
    {},
    {
      measured: DEFAULT_COMPARED,
    },
  ),
  limit('"exactly" without a rate', { rateSelector: 'exactly' }, undefined, {
    measured: DEFAULT_COMPARED,
  }),
  limit('rate exactly 10', { rateSelector: 'exactly', rate: 10 }, undefined, { by: 'D' }),
  limit('rate exactly 2.5', { rateSelector: 'exactly', rate: 2.5 }, { rate: 2.5 }, { by: 'D' }),
  limit('rate greater than 2.5', { rateSelector: 'greater-than', rate: 2.5 }, undefined, {
    by: 'D',
  }),
  limit('rate less than 10', { rateSelector: 'less-than', rate: 10 }, { rate: 2.5 }, { by: 'D' }),
  limit(
    'the largest rate',
    { rateSelector: 'largest-available', rate: 40 },
    { rate: 2.5 },
    { by: 'D' },
  ),

  ...(['greater-than', 'less-than', 'exactly', 'largest-available'] as const).flatMap(
    (selector) => [
      limit(
        `packet lifetime ${selector} 18`,
        { packetLifeTimeSelector: selector, packetLifeTime: 18 },
        { packetLifeTime: 18 },
        { measured: 'the selector is ignored, the value taken as it stands' },
      ),
    ],
  ),
  limit(
    'packet lifetime less than 0',
    { packetLifeTimeSelector: 'less-than', packetLifeTime: 0 },
    {},
    {
      measured: 'the selector is ignored, the value taken as it stands',
    },
  ),
  {
    statement: 'o15-0.1.8',
    name: 'a refused limit leaves no group behind',
    steps: [
      create('A', { mtuSelector: 'exactly', mtu: 4096 }).refused('REQ_INVALID'),
      join('A').refused('INSUFFICIENT_COMPONENTS'),
    ],
  },
];
