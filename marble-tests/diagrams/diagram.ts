import type { Observable } from 'rxjs';
import type { RunHelpers } from 'rxjs/testing';
import type { MarbleProvider } from '../../src/testing/marble-provider.js';
import type { Attempt } from '../../src/testing/script.js';

/** One join at the provider. */
export interface DrawnJoin {
  readonly label: string;
  readonly mgid: string;
  /** What the provider reports; frame 0 is the moment of the join. */
  readonly attempt: Extract<Attempt, string>;
  /** From the join to the free. */
  readonly span: string;
}

/** What one subscriber sees. */
export interface DrawnResult {
  readonly label: string;
  /** From the subscription to the unsubscription. Default: from frame 0 to the end. */
  readonly subscription?: string;
  readonly marbles: string;
  /** The code of the error that `#` stands for. */
  readonly error?: string;
}

/** What a diagram's code is given. */
export interface Stage {
  readonly provider: MarbleProvider;
  readonly helpers: Pick<RunHelpers, 'cold'>;
  /** Runs work at a frame. */
  readonly at: (frame: number, work: () => void) => void;
}

/**
 * A marble diagram that is asserted by diagrams.spec.ts and drawn for docs/pictures, both from the same
 * text. Frames are columns: the texts are written without time progression.
 */
export interface Diagram {
  /** The name of the picture. */
  readonly name: string;
  /** The code that turns what is above the box into what is below it. */
  readonly operator: string;
  /** Streams that go in beside the joins. */
  readonly inputs?: readonly { readonly label: string; readonly marbles: string }[];
  readonly joins: readonly DrawnJoin[];
  readonly results: readonly DrawnResult[];
  /** What the letters of results stand for, where they are no events. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** What the letters mean to a reader, in the order of the legend. */
  readonly legend: Readonly<Record<string, string>>;
  /** The code gives promises, which settle between frames. */
  readonly promises?: true;
  /**
   * One stream or promise per result. A stream is subscribed to as the result says; a promise gives its
   * value and then completes.
   */
  readonly code: (stage: Stage) => readonly (Observable<unknown> | Promise<unknown>)[];
}
