import type { MulticastHandle, MulticastProvider } from '../contract/provider.js';
import { publishDiagnostic } from '../errors/diagnostics.js';
import type { DiagnosticMessage } from '../errors/diagnostics.js';

/** Frees a handle, and never throws: how a provider fails at it is for the diagnostics channel. */
export function freeHandle(
  provider: MulticastProvider,
  handle: MulticastHandle,
  of: Pick<DiagnosticMessage, 'device' | 'port' | 'mgid'>,
): void {
  const report = (error: unknown): void => {
    publishDiagnostic('rx-ib-multicast:leave-failed', () => ({
      provider: provider.name,
      ...of,
      error,
    }));
  };
  try {
    const seam: { freeMulticast(handle: MulticastHandle): unknown } = provider;
    const freed = seam.freeMulticast(handle);
    // Nobody waits for a provider that leaves by a promise, but its failure is not to be lost.
    if (freed instanceof Promise) freed.catch(report);
  } catch (error) {
    report(error);
  }
}
