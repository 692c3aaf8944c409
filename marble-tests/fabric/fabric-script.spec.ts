// The fabric itself: the script behind `npm run fabric`, and what tests ask of a simulated fabric.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { fabricAvailable, startFabric } from '../../scripts/fabric/simulator.mjs';

const SCRIPT = fileURLToPath(new URL('../../scripts/fabric.mjs', import.meta.url));
const CLI = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const KEYBOARD = fileURLToPath(new URL('press-ctrl-c.py', import.meta.url));
const JOIN = 'join ff12:cafe::10 --provider umad --qkey 0xb1b --pkey 0xffff --sl 0'
  .concat(' --traffic-class 0 --flow-label 0')
  .split(' ');
const available = fabricAvailable();

/** Whether a process runs; one that has ended but was not collected does not. */
function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Runs a command on a fabric in a terminal of its own; Ctrl-C is pressed once it prints a text. */
async function pressCtrlC(when: string, ...command: string[]) {
  const args = [KEYBOARD, when, process.execPath, SCRIPT, ...command];
  const child = spawn('python3', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, shown };
}

function start(...args: string[]) {
  const child = spawn(process.execPath, [SCRIPT, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const run = { child, stdout: '', stderr: '', ended: Promise.resolve<number | null>(null) };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (run.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (run.stderr += text));
  run.ended = once(child, 'close').then(([code]) => code as number | null);
  return run;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe.skipIf(!available.ok)(
  `npm run fabric${available.ok ? '' : ` (${available.reason})`}`,
  () => {
    it('passes the exit code on and leaves nothing behind', async () => {
      const run = start('sh', '-c', 'echo $RXIB_FABRIC_DIRECTORY $RXIB_FABRIC_SM_PID; exit 7');
      expect(await run.ended).toBe(7);
      const [directory = '', pid] = run.stdout.trim().split(' ');
      expect(directory).not.toBe('');
      expect(existsSync(directory)).toBe(false);
      expect(lives(Number(pid))).toBe(false);
    });

    it.each([
      ['SIGTERM', 143],
      ['SIGINT', 130],
    ] as const)('gives the command %s once, and ends with it', async (signal, code) => {
      const run = start(
        process.execPath,
        '-e',
        `let n = 0; process.on('${signal}', () => { n += 1; setTimeout(() => {
         console.log('signals', n); process.exit(${code}) }, 200) });
       setInterval(() => {}, 1000); console.log('ready', process.env.RXIB_FABRIC_SM_PID)`,
      );
      await until(() => run.stdout.includes('ready'));
      const pid = Number(/ready (\d+)/.exec(run.stdout)?.[1]);
      run.child.kill(signal);
      expect(await run.ended).toBe(code);
      expect(run.stdout).toContain('signals 1\n');
      expect(lives(pid)).toBe(false);
    });

    it('ends what the command left running, but lets it finish', async () => {
      const run = start(
        'sh',
        '-c',
        `sh -c 'trap "echo left; exit" TERM; echo up; sleep 60 & wait' & sleep 0.3`,
      );
      expect(await run.ended).toBe(0);
      expect(run.stdout).toBe('up\nleft\n');
    });

    it('names what it does not understand', async () => {
      const unknown = start('--ports', '3', 'true');
      expect(await unknown.ended).toBe(2);
      expect(unknown.stderr).toContain('unknown option --ports');
      const none = start();
      expect(await none.ended).toBe(2);
      const missing = start('rxib-no-such-program');
      expect(await missing.ended).toBe(127);
      expect(missing.stderr).toBe('command not found: rxib-no-such-program\n');
    });

    it('leaves the simulator and OpenSM running when Ctrl-C is pressed in a terminal', async () => {
      const run = await pressCtrlC(
        'ready',
        process.execPath,
        '-e',
        `const pid = Number(process.env.RXIB_FABRIC_SM_PID);
       process.on('SIGINT', () => setTimeout(() => {
         process.kill(pid, 0); console.log('OpenSM runs'); process.exit(130) }, 300));
       setInterval(() => {}, 1000); console.log('ready', pid)`,
      );
      expect(run.shown).toContain('OpenSM runs');
      expect(run.code).toBe(130);
      expect(lives(Number(/ready (\d+)/.exec(run.shown)?.[1]))).toBe(false);
    });

    it('lets the command line leave its group when Ctrl-C is pressed in a terminal', async () => {
      const run = await pressCtrlC('  joined', process.execPath, CLI, ...JOIN);
      expect(run.code).toBe(130);
      // What the command line and the script would say of a leave without an answer.
      expect(run.shown).not.toMatch(/waiting|gave up|did not take|simulator ended/);
    });
  },
);

describe.skipIf(!available.ok)('a simulated fabric', () => {
  it('is isolated from another one at the same time', async () => {
    await using one = await startFabric({ hosts: 2 });
    await using other = await startFabric({ hosts: 3 });
    expect(one.socketName).not.toBe(other.socketName);
    expect(await one.saquery('Hca2', '-N')).not.toContain('Hca3');
    expect(await other.saquery('Hca2', '-N')).toBeTruthy();
    expect(() => one.env('Hca3')).toThrow(RangeError);
  });

  it('lists the broadcast group, from saquery and from the dump', async () => {
    await using sim = await startFabric({ hosts: 2 });
    const records = await sim.records('Hca2', '-g');
    expect(records.map((record) => record['MGID'])).toEqual(['ff12:401b:ffff::ffff:ffff']);
    const [group] = await sim.groups();
    expect(group).toMatchObject({
      mgid: 'ff12:401b:ffff::ffff:ffff',
      mlid: 0xc000,
      wellKnown: true,
      pkey: 0xffff,
      members: [],
    });
  });

  it('hands the subnet over to a standby', async () => {
    await using sim = await startFabric();
    const standby = await sim.startStandby('Hca3');
    expect(standby.log()).not.toContain('SUBNET UP');
    await sim.opensm.kill();
    await standby.master();
    expect(await sim.groupsOf(standby)).toHaveLength(1);
  });

  it('refuses console commands that the simulator does not know', async () => {
    await using sim = await startFabric({ hosts: 2, opensm: false });
    await expect(sim.console('Unlink "Hca9"[1]')).rejects.toThrow('Hca9');
    await expect(sim.console('Zork')).rejects.toThrow('Zork');
    await expect(sim.console('Unlink "Hca2"[1]')).resolves.toBeDefined();
  });
});
