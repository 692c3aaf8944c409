// docs/conformance.md against the tables: how many cases there are, and which are left out where.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { whyInexpressible } from '../../src/providers/rdmacm.js';
import { CASES } from './cases.js';
import { CONTRACT_CASES } from './contract-cases.mjs';
import type { BackendName } from './contract-cases.mjs';
import { PROVIDER_CASES } from './provider-cases.js';
import type { ProviderCase } from './provider-cases.js';

const page = readFileSync(new URL('../../docs/conformance.md', import.meta.url), 'utf8');
/** The cells of every table row. */
const rows = [...page.matchAll(/^\| (.*) \|$/gm)].map(([, cells = '']) =>
  cells.split(' | ').map((cell) => cell.trim()),
);
const row = (first: string): readonly string[] =>
  rows.find(([cell]) => cell === first)?.slice(1) ?? [];

/** Whether the connection manager can be told everything that a case joins; on RoCE no MGID. */
function whyNotAtKernel({ steps }: ProviderCase): 'fields' | 'MGID' | undefined {
  const joins = steps.flatMap(({ join }) => (join === undefined ? [] : [join]));
  if (joins.some(({ record }) => whyInexpressible(record ?? {}) !== undefined)) return 'fields';
  return joins.some(({ record }) => record?.mgid !== undefined) ? 'MGID' : undefined;
}

describe('docs/conformance.md', () => {
  it('counts the cases about MADs, statement by statement', () => {
    const statements = new Set(CASES.map(({ statement }) => statement));
    for (const statement of statements) {
      const count = CASES.filter((one) => one.statement === statement).length;
      expect([statement, row(statement)[1]]).toEqual([statement, String(count)]);
    }
    expect(row('MADs')).toEqual([String(CASES.length), 'all', 'all', 'none']);
  });

  it('says why no join by a record is put to the connection manager', () => {
    const reasons = PROVIDER_CASES.map(whyNotAtKernel);
    const count = (reason: string): string =>
      String(reasons.filter((one) => one === reason).length);
    expect(reasons).not.toContain(undefined);
    expect(row('joins by a record')).toEqual([
      String(PROVIDER_CASES.length),
      'all',
      'all',
      `none: ${count('fields')} give fields, ${count('MGID')} an MGID`,
    ]);
  });

  it('counts the cases of the contract, and lists what is left out, with the reason', () => {
    const ran = (backend: BackendName): string => {
      const count = CONTRACT_CASES.filter((one) => one.except?.[backend] === undefined).length;
      return count === CONTRACT_CASES.length ? 'all' : String(count);
    };
    expect(row('contract')).toEqual([
      String(CONTRACT_CASES.length),
      ran('embedded'),
      ran('umad'),
      ran('rdmacm'),
    ]);
    const listed = rows.filter(([, backend = '']) => /^`\w+\(\)`$/.test(backend));
    const names = { embedded: '`embeddedFabric()`', umad: '`umad()`', rdmacm: '`rdmacm()`' };
    expect(listed).toEqual(
      CONTRACT_CASES.flatMap(({ name, except = {} }) =>
        Object.entries(except).map(([backend, reason]) => [
          name,
          names[backend as BackendName],
          reason,
        ]),
      ),
    );
  });

  it('has cases with names of their own', () => {
    const names = CONTRACT_CASES.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
