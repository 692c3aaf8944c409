// A worker that joins groups, says so, and goes on until it is terminated, in the middle of joins.

import { parentPort, workerData } from 'node:worker_threads';
import { joinMulticast$ } from 'rx-ib-multicast';
import { backendOf } from './contract-backends.mjs';

const { backend, groups, joining } = workerData;
const at = backendOf(backend);
let left = groups.length;
for (const n of groups) {
  joinMulticast$(at.request(n)).subscribe((event) => {
    if (event.type !== 'joined') throw event.error;
    left -= 1;
    if (left > 0) return;
    for (const other of joining) joinMulticast$(at.request(other)).subscribe();
    parentPort.postMessage('joined');
  });
}
