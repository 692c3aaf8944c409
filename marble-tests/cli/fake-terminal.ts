import { ReplaySubject } from 'rxjs';
import type { Terminal } from '../../src/cli/terminal.js';

/** A terminal that keeps what is printed, and whose signals the test sends. */
export class FakeTerminal implements Terminal {
  readonly lines: string[] = [];
  readonly notes: string[] = [];
  readonly #signals = new ReplaySubject<NodeJS.Signals>(2);
  readonly #outputEnd = new ReplaySubject<Error | undefined>(1);
  readonly signals$ = this.#signals.asObservable();
  readonly outputEnd$ = this.#outputEnd.asObservable();

  print(line: string): void {
    this.lines.push(line);
  }

  note(line: string): void {
    this.notes.push(line);
  }

  signal(name: NodeJS.Signals): void {
    this.#signals.next(name);
  }

  endOutput(error?: Error): void {
    this.#outputEnd.next(error);
  }

  get events(): Record<string, unknown>[] {
    return this.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }
}
