// A life in eight steps on a simulated host, ended at the one it is told: life.mjs STEP WAY.
// The parent changes the port's LID at the word "reset", which resets the memberships, and has the subnet
// manager look at the port at the word "lost".

import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { joinMulticast$, rejoinOnReset, umad } from 'rx-ib-multicast';

const [step, way] = isMainThread ? process.argv.slice(2) : workerData;
const creation = { qkey: 0xb1b, pkey: 0xffff, sl: 0, trafficClass: 0, flowLabel: 0 };
const subscriptions = [];

function leaveAll() {
  for (const subscription of subscriptions) subscription.unsubscribe();
}

const ends = {
  itself: () => setTimeout(leaveAll),
  exit: () => process.exit(3),
  throw: () =>
    setImmediate(() => {
      throw new Error('uncaught on purpose');
    }),
  SIGTERM: () => process.kill(process.pid, 'SIGTERM'),
  SIGKILL: () => process.kill(process.pid, 'SIGKILL'),
  // In a worker, which is terminated in the middle of this.
  terminate: () => {
    parentPort.postMessage('now');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  },
};

const tell = (word) => (isMainThread ? process.send(word) : parentPort.postMessage(word));

let come = false;
function at(here) {
  if (come || here !== step) return;
  come = true;
  ends[way]();
}

function live() {
  at('before open');
  const provider = umad({ pollIntervalMs: 20, requestTimeoutMs: 1500 });
  const groups = ['ff12:cafe::51', 'ff12:cafe::52', 'ff12:cafe::53'];
  const joined = new Set();
  const rejoined = new Set();
  at('opening');
  for (const mgid of groups) {
    const policy = { initialDelayMs: 20, jitter: 0 };
    subscriptions.push(
      joinMulticast$({ provider, record: { mgid, ...creation } })
        .pipe(rejoinOnReset(policy))
        .subscribe((event) => {
          if (event.type === 'reset') {
            tell('lost');
            at('resetting');
            setTimeout(() => at('rejoining'), 21);
          }
          if (event.type !== 'joined') return;
          (joined.has(mgid) ? rejoined : joined).add(mgid);
          if (joined.size === groups.length && rejoined.size === 0) {
            at('joined');
            if (!come) tell('reset');
          }
          if (rejoined.size < groups.length) return;
          leaveAll();
          at('leaving');
          void provider.close().then(() => at('closed'));
        }),
    );
  }
  at('joining');
}

// The channel alone does not keep the process.
if (isMainThread) process.channel.unref();
if (way !== 'terminate' || !isMainThread) {
  live();
  // Whatever becomes of its memberships, a worker waits for its end.
  if (!isMainThread) setInterval(() => undefined, 1000);
} else {
  const worker = new Worker(new URL(import.meta.url), { workerData: [step, way] });
  worker.on('message', async (message) => {
    if (message === 'now') await worker.terminate();
    else tell(message);
  });
}
