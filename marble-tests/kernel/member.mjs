// A process that joins, says so on its output, and ends as it is told:
// node member.mjs '{"group":"239.1.2.3","provider":"rdmacm","device":"rxe0","end":"unsubscribe"}'
// end: unsubscribe (and let the process end by itself), exit, throw, wait (for a signal), worker.

import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { joinMulticast$, rdmacm } from 'rx-ib-multicast';

const job = isMainThread ? JSON.parse(process.argv[2]) : workerData;
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

if (job.end === 'worker' && isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { ...job, end: 'wait' } });
  // Told by the worker once it is a member.
  worker.once('message', async () => {
    say({ type: 'terminated', code: await worker.terminate() });
  });
} else {
  join({
    ...(job.provider === 'rdmacm' ? { provider: rdmacm() } : {}),
    ...(job.device === undefined ? {} : { device: job.device, port: 1 }),
    group: job.group,
  });
  if (job.alsoByDefault) join({ group: job.group });
}

function join(wanted) {
  const subscription = joinMulticast$(wanted).subscribe({
    next: (event) => {
      const { type, status, record, reason, error, request } = event;
      say({
        type,
        status,
        mgid: record?.mgid,
        reason,
        code: error?.code,
        message: error?.message,
        provider: request.provider.name,
      });
      if (type !== 'joined') return;
      if (job.end === 'unsubscribe') subscription.unsubscribe();
      if (job.end === 'exit') process.exit(7);
      if (job.end === 'throw') {
        setImmediate(() => {
          throw new Error('uncaught on purpose');
        });
      }
      parentPort?.postMessage('joined');
    },
    error: (error) => say({ type: 'failed', code: error.code }),
  });
}
