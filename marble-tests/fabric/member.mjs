// A process on a simulated host, told over its IPC channel what to join and how to end. It uses the
// compiled package, as an application does.

import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import * as page from 'rx-ib-multicast';
import { joinMulticast$, rejoinOnReset, umad } from 'rx-ib-multicast';
import { askAll, plain, revived } from './ask-all.mjs';

const post = (message) => {
  if (!isMainThread) parentPort.postMessage(message);
  else if (process.connected) process.send(message);
};

const providers = new Map();
const subscriptions = new Map();
const workers = new Map();

function providerFor(options = {}) {
  const key = JSON.stringify(options);
  if (!providers.has(key)) providers.set(key, umad(options));
  return providers.get(key);
}

const commands = {
  join({ id, request, provider, rejoin }) {
    const joined$ = joinMulticast$({ provider: providerFor(provider), ...request });
    subscriptions.set(
      id,
      (rejoin === undefined ? joined$ : joined$.pipe(rejoinOnReset(rejoin))).subscribe({
        next: (event) => {
          const { type, status, record, reason, error } = event;
          post({
            id,
            type,
            status,
            record,
            reason,
            code: error?.code,
            saStatusName: error?.saStatusName,
            fields: error?.fields,
            message: error?.message,
          });
        },
        error: (error) => post({ id, type: 'failed', code: error.code, message: error.message }),
      }),
    );
  },
  leave({ id }) {
    subscriptions.get(id)?.unsubscribe();
  },
  /** Every record that a query gives, and how it ended. */
  query: ({ name, args, provider }) => askAll(page, name, args, providerFor(provider)),
  /** So many queries at once; resolves with the milliseconds they took, and how they ended. */
  async storm({ count, name, args, provider }) {
    const started = performance.now();
    const all = await Promise.all(
      Array.from({ length: count }, () => askAll(page, name, args, providerFor(provider))),
    );
    const ms = performance.now() - started;
    return {
      ms,
      records: all.flatMap((one) => one.records).length,
      codes: all.map((one) => one.code),
    };
  },
  register({ id, service, provider }) {
    subscriptions.set(
      id,
      page.registerService$({ ...revived(service), provider: providerFor(provider) }).subscribe({
        next: ({ type, status, record, reason, error }) =>
          post(plain({ id, type, status, record, reason, code: error?.code })),
        error: (error) => post({ id, type: 'failed', code: error.code, message: error.message }),
      }),
    );
  },
  /** Emits what groupEvents$ does, through a client of its own. */
  watch({ id, provider }) {
    const client = page.registerSaClient({ provider: providerFor(provider) });
    subscriptions.set(
      id,
      page.groupEvents$(client).subscribe({
        next: ({ type, mgid, reason }) => post(plain({ id, type, mgid, reason })),
        error: (error) => post({ id, type: 'failed', code: error.code, message: error.message }),
      }),
    );
  },
  /** Several commands in one turn of the loop. */
  together({ list }) {
    for (const command of list) perform(command);
  },
  async idle() {
    for (const provider of providers.values()) await provider.idle();
  },
  /** Resolves with the number of handles that nobody had freed. */
  async close() {
    let alive = 0;
    for (const provider of providers.values()) {
      const { joinsStarted, handlesFreed } = provider.stats();
      alive += joinsStarted - handlesFreed;
      await provider.close();
    }
    providers.clear();
    return alive;
  },
  stats: ({ provider }) => providerFor(provider).stats(),
  ports: () => providerFor().ports(),
  worker({ name }) {
    const worker = new Worker(new URL(import.meta.url), { workerData: { name } });
    worker.on('message', (message) => post({ ...message, worker: name }));
    workers.set(name, worker);
  },
  inWorker({ name, command }) {
    workers.get(name).postMessage(command);
  },
  async terminate({ name }) {
    await workers.get(name).terminate();
  },
  exit({ code }) {
    process.exit(code);
  },
  throw() {
    setImmediate(() => {
      throw new Error('uncaught on purpose');
    });
  },
  /** Lets the process end by itself: the channel no longer holds it. */
  disconnect() {
    process.disconnect();
  },
};

function perform(command) {
  return commands[command.do](command);
}

async function receive(command) {
  let result;
  let failure;
  try {
    result = await perform(command);
  } catch (error) {
    failure = String(error?.stack ?? error);
  }
  post({ type: 'done', serial: command.serial, result, failure });
}

if (isMainThread) process.on('message', receive);
else parentPort.on('message', receive);
post({ type: 'ready', worker: workerData?.name });
