import type { SaPortOptions } from '../contract/provider.js';
import type { NativePortOptions } from '../binding/addon.js';
import { shown } from '../errors/shown.js';

/** `SaPortOptions` with every default filled in. */
export type CheckedSaPortOptions = {
  [K in keyof SaPortOptions]-?: NonNullable<SaPortOptions[K]>;
};

const DEFAULTS: CheckedSaPortOptions = {
  requestTimeoutMs: 3_000,
  attempts: 3,
  maxOutstanding: 64,
  auditIntervalMs: 10_000,
  staleLeaveMs: 30_000,
  probe: 'ipoib',
  pollIntervalMs: 250,
  exitDrainMs: 2_000,
  ref: true,
};

const MAX_MS = 2 ** 31 - 1;

/** The smallest and the largest value; whole numbers only where `integer`. */
const LIMITS: Readonly<
  Record<
    Exclude<keyof SaPortOptions, 'ref' | 'probe'>,
    { min: number; max: number; integer: boolean; unit: string }
  >
> = {
  requestTimeoutMs: { min: 1, max: MAX_MS, integer: false, unit: 'milliseconds' },
  attempts: { min: 1, max: 100, integer: true, unit: 'attempts' },
  maxOutstanding: { min: 1, max: 255, integer: true, unit: 'requests' },
  auditIntervalMs: { min: 0, max: MAX_MS, integer: false, unit: 'milliseconds' },
  staleLeaveMs: { min: 0, max: MAX_MS, integer: false, unit: 'milliseconds' },
  pollIntervalMs: { min: 1, max: MAX_MS, integer: false, unit: 'milliseconds' },
  exitDrainMs: { min: 0, max: MAX_MS, integer: false, unit: 'milliseconds' },
};

/** The values of `probe`. */
export const PROBES = ['ipoib', 'always', 'never'] as const;

/** The names of the options a port has. */
export const SA_PORT_OPTIONS = Object.keys(DEFAULTS) as readonly (keyof SaPortOptions)[];

/**
 * Checks the options of a port and fills in defaults. `undefined` counts as absent; other keys are
 * the caller's to check.
 *
 * @throws TypeError or RangeError that names the option and the accepted values.
 */
export function checkSaPortOptions(options: SaPortOptions): CheckedSaPortOptions {
  const checked = { ...DEFAULTS };
  for (const [name, limit] of Object.entries(LIMITS)) {
    const key = name as keyof typeof LIMITS;
    const value = options[key];
    if (value === undefined) continue;
    const accepted = `expected ${limit.integer ? 'an integer' : 'a number'} of ${limit.unit} from ${String(limit.min)} to ${String(limit.max)}`;
    if (typeof value !== 'number') throw new TypeError(`${name} is ${shown(value)}; ${accepted}`);
    if (
      !(value >= limit.min && value <= limit.max) ||
      (limit.integer && !Number.isInteger(value))
    ) {
      throw new RangeError(`${name} is ${String(value)}; ${accepted}`);
    }
    checked[key] = value;
  }
  if (options.probe !== undefined) {
    if (!PROBES.includes(options.probe)) {
      throw new (typeof options.probe === 'string' ? RangeError : TypeError)(
        `probe is ${shown(options.probe)}; expected ${PROBES.map((one) => shown(one)).join(' or ')}`,
      );
    }
    checked.probe = options.probe;
  }
  if (options.ref !== undefined) {
    if (typeof options.ref !== 'boolean') {
      throw new TypeError(`ref is ${shown(options.ref)}; expected true or false`);
    }
    checked.ref = options.ref;
  }
  return checked;
}

/** What the addon needs of them. */
export function nativePortOptions(options: CheckedSaPortOptions): NativePortOptions {
  const { requestTimeoutMs, attempts, maxOutstanding, auditIntervalMs } = options;
  const { staleLeaveMs, probe, pollIntervalMs, exitDrainMs } = options;
  return {
    requestTimeoutMs,
    attempts,
    maxOutstanding,
    auditIntervalMs,
    staleLeaveMs,
    probe,
    pollIntervalMs,
    exitDrainMs,
  };
}
