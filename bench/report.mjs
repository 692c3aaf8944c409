const rate = (value) => `${Math.round(value).toLocaleString('en-US')}/s`;
const ratio = ({ ratio: value, spread: [low, high] }) =>
  `${value.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
const ms = (value) => `${value.toFixed(1)} ms`;
const bytes = (value) => `${Math.round(value).toLocaleString('en-US')} B`;

function table(head, rows) {
  const all = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column].length)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const writers = {
  machine: (m) =>
    `node ${m.node}, ${m.cpu}, ${m.cores} cores, load ${m.loadBefore.toFixed(1)} before and ${m.loadAfter.toFixed(1)} after`,
  embedded: ({ growth, ...sizes }) =>
    `Embedded fabric, JavaScript over the engine alone\n${table(
      ['groups', 'engine', 'js', 'ratio of joins', 'ratio of frees'],
      Object.entries(sizes).map(([groups, size]) => [
        groups,
        rate(size.engine),
        rate(size.js),
        ratio(size),
        ratio(size.frees),
      ]),
    )}\ntime per join at 100,000 over 1,000: engine ${growth.engine.toFixed(2)}, js ${growth.js.toFixed(2)}`,
  opensm: ({ missing, paths, ...windows }) =>
    missing ??
    `OpenSM, JavaScript over a client in C\n${table(
      ['window', 'c', 'js', 'ratio of joins', 'ratio of leaves', 'p50 c, js', 'p99 c, js'],
      Object.entries(windows).map(([name, w]) => [
        name,
        rate(w.c),
        rate(w.js),
        ratio(w),
        ratio(w.leaves),
        `${w.p50Us.c.toFixed(0)}, ${w.p50Us.js.toFixed(0)} us`,
        `${w.p99Us.c.toFixed(0)}, ${w.p99Us.js.toFixed(0)} us`,
      ]),
    )}\npath queries, window 64: c ${rate(paths.c)}, js ${rate(paths.js)}, ratio ${ratio(paths)}`,
  rx: (variants) =>
    `Rx over a provider that answers at once\n${table(
      ['', 'ns per joined event', 'bytes per subscription'],
      Object.entries(variants).map(([name, v]) => [
        name,
        Math.round(v.nsPerEvent),
        Math.round(v.bytesPerSubscription),
      ]),
    )}`,
  storm: ({ one, smallNursery, hosts }) =>
    `Storm of ${one.memberships} memberships: back after ${ms(one.recoveryMs)}, longest block ${ms(one.blockMs)} (idle loop: ${ms(one.idleBlockMs)}, longest garbage collection ${ms(one.collectionMs)}), peak outstanding ${one.outstandingPeakPerHost}
with --max-semi-space-size=2: back after ${ms(smallNursery.recoveryMs)}, longest block ${ms(smallNursery.blockMs)} (longest collection ${ms(smallNursery.collectionMs)})\n${table(
      ['hosts', 'window', 'jitter', 'peak queue at the SA', 'per host', 'all back', 'block'],
      hosts.map((run) => [
        run.hosts,
        run.window,
        run.jitter,
        run.queuedPeak,
        run.outstandingPeakPerHost,
        ms(run.recoveryMs),
        ms(run.blockMs),
      ]),
    )}`,
  memory: (m) =>
    `Memory per idle membership: ${bytes(m.total)} (JavaScript ${bytes(m.js)}, native ${bytes(m.native)}; the caller's request besides: ${bytes(m.request)})`,
  startup: (s) =>
    `Start-up: import ${ms(s.importMs)} beyond rxjs's ${ms(s.rxjsImportMs)}, --help ${ms(s.cliHelpMs)}; package ${bytes(s.packedBytes)} packed, ${bytes(s.unpackedBytes)} installed, ${bytes(s.withoutBinaryBytes)} without the binary`,
};

/** What was measured, for people. */
export function report(results) {
  return Object.entries(results)
    .map(([section, result]) => writers[section](result))
    .join('\n\n');
}
