// Runs one case at one administrator and leaves nothing there.
import { expect } from 'vitest';
import { componentMaskOf } from '../../src/records/component-mask.js';
import type { Administrator } from './administrator.js';
import { AssignedMgids } from './assigned-mgids.js';
import { emptyGroup } from './empty-group.js';
import { echoOf, METHODS, shown } from './sa-mad.js';
import type { SaAnswer, SaRequest, WireRecord } from './sa-mad.js';
import { BROADCAST } from './step.js';
import type { ConformanceCase, Step } from './step.js';

/** Transient, of the scope that the mask asked for or else link-local, and with the signature. */
function assignedForm({ mask, record }: Step, mgid: string): string {
  const scope = mask.includes('scope') ? (record.scope ?? 0) : 2;
  expect(mgid, 'the assigned MGID').toMatch(new RegExp(`^ff1${scope.toString(16)}:a01b:`));
  return mgid;
}

function expectedAnswer(step: Step, assignedMgids: AssignedMgids): unknown {
  if (step.expected === 'silence') return 'silence';
  const refusal = typeof step.expected === 'string' ? step.expected : undefined;
  // An answer to Set is a GetResp.
  const method = (step.method === 'Set' ? METHODS.Get : METHODS[step.method]) | 0x80;
  const records =
    typeof step.expected === 'string'
      ? [echo(step, assignedMgids)]
      : step.expected.map((record) => assignedMgids.resolve(record));
  return {
    status: refusal ?? 'OK',
    method,
    attributeModifier: 0,
    smKey: 0n,
    // In units of 8 bytes, with the padding.
    attributeOffset: refusal === undefined && records.length > 0 ? 7 : 0,
    componentMask: componentMaskOf(step.mask),
    records,
  };
}

function echo(step: Step, assignedMgids: AssignedMgids): WireRecord {
  const { portGid = '::', ...record } = assignedMgids.resolve(step.record);
  return { ...echoOf(record), portGid };
}

async function ask(
  administrator: Administrator,
  step: Step,
  assignedMgids: AssignedMgids,
): Promise<SaAnswer | undefined> {
  const { method, mask, smKey } = step;
  const request: SaRequest = { method, mask, record: assignedMgids.resolve(step.record) };
  if (smKey !== undefined) request.smKey = smKey;
  return administrator.ask(
    step.by,
    request,
    step.expected === 'silence' ? administrator.silenceMs : undefined,
  );
}

export async function runCase(
  administrator: Administrator,
  { steps, pinned = [] }: ConformanceCase,
): Promise<void> {
  const assignedMgids = new AssignedMgids();
  const touched = new Set<string>();
  try {
    for (const [index, step] of steps.entries()) {
      const answer = await ask(administrator, step, assignedMgids);
      const mgid = answer?.status === 0 && step.method === 'Set' && answer.records[0]?.mgid;
      if (typeof mgid === 'string') {
        touched.add(mgid);
        if (step.record.mgid === '::') assignedMgids.add(assignedForm(step, mgid));
      }
      const what = `step ${String(index + 1)}, ${step.method} by ${step.by}`;
      expect(shown(answer), what).toEqual(expectedAnswer(step, assignedMgids));
    }
  } finally {
    for (const mgid of touched) {
      const gone = await emptyGroup(administrator, mgid);
      // The broadcast group outlives its members, and what OpenSM pins stays until it restarts.
      if (mgid !== BROADCAST) expect(gone, `${mgid} is gone`).toBe(!pinned.includes(mgid));
    }
  }
}
