import { fromEvent, map, merge, ReplaySubject } from 'rxjs';
import type { Observable } from 'rxjs';

/** What a command sees of the process it runs in. */
export interface Terminal {
  /** One line of output. */
  print(line: string): void;
  /** One line about the run itself, beside the output. */
  note(line: string): void;
  /** Every signal that asks to end, earlier ones first. */
  readonly signals$: Observable<NodeJS.Signals>;
  /** Once output can no longer be delivered: without a value where its reader went away. */
  readonly outputEnd$: Observable<Error | undefined>;
}

// Node takes the default action for SIGHUP too, also under nohup, and that leaves nothing.
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const satisfies readonly NodeJS.Signals[];

/** Resolves when what was written has been handed over, or never will be. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.errored !== null) resolve();
    else
      stream.write('', () => {
        resolve();
      });
  });
}

/** The terminal of this process. From now on signals do not end it. */
export class ProcessTerminal implements Terminal {
  readonly signals$: Observable<NodeJS.Signals>;
  readonly outputEnd$: Observable<Error | undefined>;

  constructor() {
    const signals = new ReplaySubject<NodeJS.Signals>(2);
    merge(...SIGNALS.map((signal) => fromEvent(process, signal).pipe(map(() => signal)))).subscribe(
      signals,
    );
    this.signals$ = signals;
    const end = new ReplaySubject<Error | undefined>(1);
    // Every later write fails again, and an error event that nobody hears ends the process.
    fromEvent(process.stdout, 'error')
      .pipe(
        map((error) => {
          const { code } = error as NodeJS.ErrnoException;
          return code === 'EPIPE' ? undefined : (error as Error);
        }),
      )
      .subscribe(end);
    this.outputEnd$ = end;
    // There is nowhere left to report a broken stderr to.
    process.stderr.on('error', () => undefined);
  }

  print(line: string): void {
    this.write(`${line}\n`);
  }

  write(text: string): void {
    if (process.stdout.writable) process.stdout.write(text);
  }

  note(line: string): void {
    this.writeNote(`rx-ib-multicast: ${line}\n`);
  }

  writeNote(text: string): void {
    if (process.stderr.writable) process.stderr.write(text);
  }

  async flush(): Promise<void> {
    await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
  }
}
