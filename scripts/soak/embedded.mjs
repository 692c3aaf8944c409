// One soak on the embedded fabric, in a process of its own: node --expose-gc embedded.mjs SECONDS SEED

import { embeddedFabric } from 'rx-ib-multicast';
import { randomFrom } from './random.mjs';
import { soak } from './soak.mjs';

const [seconds, seed] = process.argv.slice(2).map(Number);
const random = randomFrom(seed);
const GROUPS = 2000;
const DEVICE = 'embedded0';

const fabric = embeddedFabric({
  ports: 1,
  mlidPool: 4096,
  requestTimeoutMs: 300,
  auditIntervalMs: 100,
  staleLeaveMs: 500,
  seed,
});
let lid = 100;
const faults = [
  () => fabric.setLoss({ request: random() * 0.3, reply: random() * 0.3 }),
  () => fabric.setLoss({}),
  () => fabric.setDelay(random() * 40),
  () => fabric.duplicateReplies(random()),
  () => fabric.reorderReplies(random(), random() * 200),
  () => fabric.answerWith(0x0001, Math.floor(random() * 50)),
  () => fabric.loseReplies(Math.floor(random() * 20), 'set'),
  () => fabric.dropRequests(Math.floor(random() * 20), 'delete'),
  () => fabric.restartSm({ reregister: random() < 0.5 }),
  () => fabric.takeover((lid += 1)),
  () => fabric.changeLid(DEVICE, (lid += 1)),
  () => fabric.clientReregister(DEVICE),
  () => fabric.portDown(DEVICE),
  () => fabric.portUp(DEVICE),
  () => fabric.silenceSm(),
  () => fabric.resumeSm(),
];

const report = await soak({
  provider: fabric,
  groups: GROUPS,
  seconds,
  random,
  fault: () => faults[Math.floor(random() * faults.length)](),
  calm: () => {
    fabric.setLoss({});
    fabric.setDelay(0);
    fabric.duplicateReplies(0);
    fabric.reorderReplies(0, 0);
    fabric.answerWith(0, 0);
    fabric.loseReplies(0, 'set');
    fabric.dropRequests(0, 'delete');
    fabric.resumeSm();
    fabric.portUp(DEVICE);
  },
  memberships: () => fabric.members().map(({ mgid }) => mgid),
});
await fabric.close();
console.log(JSON.stringify(report));
