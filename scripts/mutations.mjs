// npm run mutations                 every deliberate breakage of the list below
// npm run mutations -- <words>      those whose name contains the words
// npm run mutations -- --fit        only whether each still fits the source; a part of npm run lint
//
// Each is applied to a temporary copy of this checkout, never to the checkout itself, and at least
// one test must fail. A breakage that no test notices, or that no longer fits the source, fails.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import './build.mjs';
import { root } from './setup/run.mjs';

const JOIN = 'src/observable/join-multicast.ts';
const CLIENT = 'native/sa/client.cc';
const REQUESTER = 'native/sa/requester.cc';
const ASKER = 'native/sa/asker.cc';

/** `tests`: 'native', or spec files. `from` must stand in the file exactly once. */
const MUTATIONS = [
  {
    name: 'the free on the failure path is removed',
    file: JOIN,
    from: `    this.unsubscribe();
    const request = this.#request;`,
    to: `    this.#handle = NO_HANDLE;
    this.unsubscribe();
    const request = this.#request;`,
    tests: ['marble-tests/observable/join-multicast.spec.ts'],
  },
  {
    name: 'a failure is delivered before the handle is freed',
    file: JOIN,
    from: `    this.unsubscribe();
    const request = this.#request;`,
    to: `    this.#ended = true;
    const request = this.#request;`,
    tests: ['marble-tests/observable/join-multicast.spec.ts'],
  },
  {
    name: 'all that is due is done in one turn of the loop',
    file: 'src/observable/timers.ts',
    from: 'if (this.#clock.now() >= until) return;',
    to: 'if (this.#clock.now() > Infinity) return;',
    tests: ['marble-tests/observable/timers.spec.ts'],
  },
  {
    name: 'virtual time is taken for real time',
    file: 'src/observable/timers.ts',
    from: 'return now >= before && now <= Date.now();',
    to: 'return now >= 0 || before >= 0;',
    tests: ['marble-tests/observable/timers.spec.ts'],
  },
  {
    name: 'a rejoin keeps the request of a factory that has changed its mind',
    file: 'src/observable/resolve-join-request.ts',
    from: 'earlier.context === checked.context',
    to: 'earlier.context !== checked',
    tests: ['marble-tests/operators/rejoin-on-reset.spec.ts'],
  },
  {
    name: 'a duplicate joined is not dropped',
    file: JOIN,
    from: '} else if (this.#joined) {',
    to: '} else if (this.#joined && this.#ended) {',
    tests: ['marble-tests/observable/join-multicast.spec.ts'],
  },
  {
    name: 'a handle that comes after the unsubscription is not freed',
    file: JOIN,
    from: `      this.#waiting = undefined;
      this.#free();
      return;`,
    to: `      this.#waiting = undefined;
      return;`,
    tests: ['marble-tests/observable/join-multicast.spec.ts'],
  },
  {
    name: 'a completion after the end is delivered',
    file: JOIN,
    from: 'if (this.#ended) {\n      this.#drop(',
    to: 'if (this.#ended && this.#joined) {\n      this.#drop(',
    tests: ['marble-tests/observable/join-multicast.spec.ts'],
  },
  {
    name: 'the exit drain is removed',
    file: 'src/binding/environment.ts',
    from: 'this.addon.drain(this.#exitDrainMs, mainThread);',
    to: 'if (this.#exitDrainMs < 0) this.addon.drain(0, mainThread);',
    tests: ['marble-tests/lifecycle/exit.spec.ts'],
    compile: true,
  },
  {
    name: "a group's reference count is one too high after a free",
    file: CLIENT,
    from: 'count(*group, member.bits, -1);',
    to: 'if (group->counts[0] != 1) count(*group, member.bits, -1);',
    tests: 'native',
  },
  {
    name: "a group's reference count is one too low after a second join",
    file: CLIENT,
    from: '  count(group, member.bits, 1);',
    to: '  if (group.counts[0] == 0) count(group, member.bits, 1);',
    tests: 'native',
  },
  {
    name: 'the response check is removed: LID',
    file: REQUESTER,
    from: 'found->second.lid != received.sourceLid',
    to: 'false',
    tests: 'native',
  },
  {
    name: 'the response check is removed: transaction id',
    file: REQUESTER,
    from: `(mad.transactionId);
  auto found = attempts_.find(transaction);`,
    to: `(mad.transactionId);
  auto found = attempts_.find(transaction);
  if (found == attempts_.end()) found = attempts_.begin();`,
    tests: 'native',
  },
  {
    name: 'the response check is removed: method',
    file: REQUESTER,
    from: 'mad.method != static_cast<uint8_t>(responseTo(attempt.method)) ||',
    to: 'responseTo(attempt.method) == codec::SaMethod::kGet ||',
    tests: 'native',
  },
  {
    name: 'the response check is removed: attribute',
    file: REQUESTER,
    from: 'mad.attributeId != attempt.attribute) {',
    to: 'false) {',
    tests: 'native',
  },
  {
    name: 'the response check is removed: MGID',
    file: REQUESTER,
    from: 'return query.assignsMgid() ? !record.mgid.isZero() : record.mgid == query.record.mgid;',
    to: 'return !query.assignsMgid() || !record.mgid.isZero();',
    tests: 'native',
  },
  {
    name: 'a duplicate answer is taken for a new one',
    file: REQUESTER,
    from: `    ++stats_.duplicateReplies;
    report(DiagnosticKind::kDuplicateReply, record.mgid, mad.status);
    return;`,
    to: '    ++stats_.foreignReplies;\n    return;',
    tests: 'native',
  },
  {
    name: 'the compensating leave is removed',
    file: CLIENT,
    from: `    // An MGID that nobody told us can't be left.
    if (outcome.unresolved && !query.assignsMgid()) oweUnproven(group, bits);`,
    to: '',
    tests: 'native',
  },
  {
    name: 'the late success rule is removed',
    file: REQUESTER,
    from: '    onLateSuccess_(*query, record);',
    to: '',
    tests: 'native',
  },
  {
    name: 'a join freed under way is not left',
    file: CLIENT,
    from: '  if (member != nullptr) activate(group, *member);\n}',
    to: '  if (member != nullptr) activate(group, *member);\n  else group.held = 0;\n}',
    tests: 'native',
  },
  {
    name: 'a Set that asks for an MGID is repeated',
    file: CLIENT,
    from: 'query.repeatable = !query.assignsMgid();',
    to: 'query.repeatable = true;',
    tests: 'native',
  },
  {
    name: 'a join is answered from a membership that is being deleted',
    file: CLIENT,
    from: '  group.held = without(group.held, bits);\n  if (!overdue)',
    to: '  if (!overdue)',
    tests: 'native',
  },
  {
    name: 'the window is one too wide',
    file: CLIENT,
    from: 'requester_.outstanding() < static_cast<size_t>(options_.maxOutstanding)',
    to: 'requester_.outstanding() <= static_cast<size_t>(options_.maxOutstanding)',
    tests: 'native',
  },
  {
    name: 'BUSY is taken for a refusal',
    file: REQUESTER,
    from: 'if (mad.status == codec::kSaBusy) {',
    to: 'if (mad.status == codec::kSaBusy && received.bytes.empty()) {',
    tests: 'native',
  },
  {
    name: 'the audit ignores a lost membership',
    file: CLIENT,
    from: 'const bool gone = outcome.saStatus == codec::kSaNoRecords;',
    to: 'const bool gone = false;',
    tests: 'native',
  },
  {
    name: 'what a reset took is never deleted',
    file: CLIENT,
    from: 'if (kept != 0) setStale(group, kept, options_.staleLeave);',
    to: '(void)kept;',
    tests: 'native',
  },
  {
    name: 'a leave is not repeated',
    file: CLIENT,
    from: 'group.leaveFailures++ >= options_.leaveRetries',
    to: 'group.leaveFailures++ >= options_.leaveRetries * 0',
    tests: 'native',
  },
  {
    name: 'a MAD that is too short is read',
    file: 'native/codec/mad.cc',
    from: 'if (length != kMadSize) return false;',
    to: 'if (length > kMadSize) return false;',
    tests: 'native',
  },
  {
    name: 'a repeated report is told again',
    file: CLIENT,
    from: 'if (std::find(reports_.begin(), reports_.end(), mad.bytes) != reports_.end()) return;',
    to: '',
    tests: 'native',
  },
  {
    name: 'a subscription to reports is lost with a reset',
    file: 'native/sa/asker.cc',
    from: 'if (ask.spec.trap != 0 && refusal != kENODEV) {',
    to: 'if (ask.spec.trap == 0 && ask.spec.undo == nullptr) {',
    tests: 'native',
  },
  {
    name: 'group events are listened to for ever',
    file: 'src/observable/group-events.ts',
    from: 'freeHandle(provider, handle.value, { device, port });',
    to: 'void [provider, device, port, freeHandle];',
    tests: ['marble-tests/observable/group-events.spec.ts'],
  },
  {
    name: 'the probe is not made',
    file: CLIENT,
    from: 'if (unknown != 0 && probes(group.key.mgid)) {',
    to: 'if (unknown == 0xff && probes(group.key.mgid)) {',
    tests: 'native',
  },
  {
    name: 'a probe that proves nothing makes the bits ours',
    file: CLIENT,
    from: 'uint8_t theirs = asked;',
    to: 'uint8_t theirs = 0;',
    tests: 'native',
  },
  {
    name: 'the counter-check of the probe is removed',
    file: CLIENT,
    from: 'if (absent) theirs = static_cast<uint8_t>(asked & search.matched);',
    to: 'theirs = static_cast<uint8_t>(asked & search.matched);',
    tests: 'native',
  },
  {
    name: 'borrowed bits are left',
    file: CLIENT,
    from: 'group.held = without(group.held, returned);',
    to: '',
    tests: 'native',
  },
  {
    name: "our own surviving membership is taken for a stranger's",
    file: CLIENT,
    from: 'const uint8_t unknown = without(group.waiting.front()->bits, group.known());',
    to: 'const uint8_t unknown = group.waiting.front()->bits;',
    tests: 'native',
  },
  {
    name: 'a Set of former times still speaks for borrowed bits',
    file: CLIENT,
    from: 'if (theirs != 0) requester_.disown(',
    to: 'if (theirs == 0xff) requester_.disown(',
    tests: 'native',
  },
  {
    name: 'an id of ours that is forgotten counts as foreign',
    file: REQUESTER,
    from: 'transaction - firstTransaction_ - 1 < nextTransaction_ - firstTransaction_',
    to: 'transaction + 1 == 0',
    tests: 'native',
  },
  {
    name: 'a handle is told something while its sink is detached',
    file: CLIENT,
    from: '    ids.push_back(id);\n    // The free of one may be the answer to the next.\n    member.sink = nullptr;',
    to: '    ids.push_back(id);',
    tests: 'native',
  },
  {
    name: "a lost Delete of a service is repeated over a new registration's head",
    file: ASKER,
    from: '    undo(ask);\n    return;\n  }\n  if (!gone) {',
    to: '    queue(ask, Ask::Work::kUndo);\n    return;\n  }\n  if (!gone) {',
    tests: 'native',
  },
  {
    name: 'a call for which there is no memory is counted',
    file: 'native/core/queued_engine.cc',
    from: '    commands_.push_back(std::move(command));\n    const bool begins',
    to: '    if (kind == Command::Kind::kJoin) ++stats_.joinsStarted;\n    commands_.push_back(std::move(command));\n    if (kind == Command::Kind::kJoin) stats_.joinsStarted.set(stats_.joinsStarted - 1);\n    const bool begins',
    tests: 'native',
  },
  {
    name: 'closing a provider forgets what a reset has left standing',
    file: 'native/sa/port.cc',
    from: 'if (sinks_.size() <= 1) client_.leaveStaleNow(now);',
    to: 'break;',
    tests: 'native',
  },
  {
    name: 'hand-over: a completion waits for an answer that stays out',
    file: 'native/sa/port.cc',
    from: 'return after(lastAnswer_, kSilence);',
    to: 'return kNever;',
    tests: 'native',
  },
  {
    name: 'hand-over: a lent thread forgets what it has taken on',
    file: 'native/umad/receiver.cc',
    from: '(!posted_ && steadyNow() < due)',
    to: '!posted_',
    tests: 'native',
  },
  {
    name: 'hand-over: a lender keeps what is beyond its reach',
    file: 'native/core/machine.cc',
    from: 'next_ <= after(steadyNow(), reach)) return next_;',
    to: 'reach != Duration::max()) return next_;',
    tests: 'native',
  },
  {
    name: 'a freed question is never at rest',
    file: ASKER,
    from: '  if (ask.sink == nullptr) --freed_;\n',
    to: '',
    tests: 'native',
  },
];

/** In how many places of a checkout a breakage fits; it has to be one. */
function places({ file, from }, directory) {
  return readFileSync(join(directory, file), 'utf8').split(from).length - 1;
}

if (process.argv.includes('--fit')) {
  const misfits = MUTATIONS.filter((mutation) => places(mutation, root) !== 1);
  for (const { name, file } of misfits) console.error(`${name}: no longer fits ${file}`);
  process.exit(misfits.length === 0 ? 0 : 1);
}

const wanted = process.argv.slice(2).join(' ');
const chosen = MUTATIONS.filter(({ name }) => name.includes(wanted));
const copy = mkdtempSync(join(tmpdir(), 'rx-ib-multicast-mutations-'));
const jobs = `-j${availableParallelism()}`;

function start(command, args, env = {}) {
  return spawnSync(command, args, {
    cwd: copy,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    maxBuffer: 2 ** 28,
    // A breakage may well be noticed by tests that never end.
    timeout: 120_000,
  });
}

const NATIVE = [
  '-C',
  'native/test',
  jobs,
  '--no-print-directory',
  'VARIANT=mutations',
  'EXTRA=-O0',
];

/** What noticed the breakage, or undefined. */
function noticed({ tests, compile }) {
  if (tests === 'native') {
    if (start('make', NATIVE).status !== 0) return 'it does not compile';
    const run = start(join(copy, 'native/test/build/mutations/native-tests'), []);
    if (run.status === 0) return undefined;
    return (
      /^not ok {2}(.*)$/m.exec(run.stdout)?.[1] ?? `the tests crash (${run.signal ?? run.status})`
    );
  }
  if (compile) {
    const tsc = join(copy, 'node_modules/typescript/bin/tsc');
    if (start(process.execPath, [tsc, '-p', '.']).status !== 0) return 'it does not compile';
  }
  const vitest = join(copy, 'node_modules/vitest/vitest.mjs');
  const run = start(process.execPath, [vitest, 'run', '--project', 'unit', '--bail=1', ...tests], {
    NO_COLOR: '1',
  });
  if (run.status === 0) return undefined;
  return /FAIL.*?\.spec\.ts > (.*)$/m.exec(run.stdout + run.stderr)?.[1] ?? 'the test run';
}

let caught = 0;
let survived = 0;
const started = performance.now();
try {
  for (const part of ['native', 'src', 'marble-tests', 'scripts', 'dist', 'build/Release']) {
    cpSync(join(root, part), join(copy, part), {
      recursive: true,
      filter: (path) => !path.startsWith(join(root, 'native/test/build')),
    });
  }
  for (const file of ['package.json', 'tsconfig.json', 'tsconfig.test.json', 'vitest.config.ts']) {
    cpSync(join(root, file), join(copy, file));
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  // Unbroken, the tests pass; otherwise a failure would prove nothing.
  if (chosen.some(({ tests }) => tests === 'native')) {
    const failure = noticed({ tests: 'native' });
    if (failure !== undefined) throw new Error(`the unbroken tests fail: ${failure}`);
  }
  for (const mutation of chosen) {
    const path = join(copy, mutation.file);
    const source = readFileSync(path, 'utf8');
    const found = places(mutation, copy);
    if (found !== 1) {
      survived += 1;
      console.log(`not ok  ${mutation.name}\n        fits ${found} places in ${mutation.file}`);
      continue;
    }
    writeFileSync(
      path,
      source.replace(mutation.from, () => mutation.to),
    );
    const by = noticed(mutation);
    writeFileSync(path, source);
    const proof = by !== undefined && by !== 'it does not compile';
    if (proof) caught += 1;
    else survived += 1;
    console.log(
      `${proof ? 'ok    ' : 'not ok'}  ${mutation.name}\n        ${by ?? 'nobody noticed'}`,
    );
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
const seconds = ((performance.now() - started) / 1000).toFixed(0);
console.log(`${caught} passed, ${survived} failed (${chosen.length} breakages in ${seconds} s)`);
process.exitCode = survived === 0 && caught > 0 ? 0 : 1;
