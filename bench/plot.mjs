const WIDTH = 760;
const HEIGHT = 340;
const LEFT = 64;
const RIGHT = 20;
const TOP = 40;
const BOTTOM = 48;
const COLOURS = ['#0072b2', '#e69f00', '#d55e00', '#009e73'];

/** The queue at the subnet administrator over time, with most hosts: one line for each policy. */
export function stormPlot({ hosts }) {
  const most = Math.max(...hosts.map((run) => run.hosts));
  const runs = hosts.filter((run) => run.hosts === most);
  const lastMs = Math.max(...runs.map((run) => run.recoveryMs));
  const highest = Math.max(1, ...runs.map((run) => run.queuedPeak));
  const x = (time) => LEFT + (time / lastMs) * (WIDTH - LEFT - RIGHT);
  const y = (queued) => HEIGHT - BOTTOM - (queued / highest) * (HEIGHT - TOP - BOTTOM);
  const label = (text, left, top, more = '') =>
    `<text x="${left.toFixed(1)}" y="${top.toFixed(1)}" ${more}>${text}</text>`;
  const lines = runs.map((run, index) => {
    const points = [[0, 0], ...run.samples, [run.recoveryMs, 0]]
      .map(([time, queued]) => `${x(time).toFixed(1)},${y(queued).toFixed(1)}`)
      .join(' ');
    return `<polyline points="${points}" fill="none" stroke="${COLOURS[index]}" stroke-width="1.5"/>`;
  });
  const legend = runs.map((run, index) =>
    label(
      `window ${run.window}, jitter ${run.jitter}: peak ${run.queuedPeak}`,
      WIDTH - RIGHT - 230,
      TOP + 16 * (index + 1),
      `fill="${COLOURS[index]}"`,
    ),
  );
  const ticks = [0, 0.25, 0.5, 0.75, 1].flatMap((part) => [
    label(
      `${((lastMs * part) / 1000).toFixed(1)} s`,
      x(lastMs * part),
      HEIGHT - BOTTOM + 18,
      'text-anchor="middle"',
    ),
    label(String(Math.round(highest * part)), LEFT - 8, y(highest * part) + 4, 'text-anchor="end"'),
    `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(highest * part).toFixed(1)}" y2="${y(highest * part).toFixed(1)}" stroke="#ddd"/>`,
  ]);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
${label(`Requests waiting at the subnet administrator: ${runs[0].memberships} memberships on ${most} hosts`, LEFT, 22, 'font-size="14"')}
${ticks.join('\n')}
${lines.join('\n')}
${legend.join('\n')}
${label('after the restart of the subnet manager', WIDTH / 2, HEIGHT - 10, 'text-anchor="middle"')}
</svg>
`;
}
