import { NEVER } from 'rxjs';
import type { Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { MulticastEvent } from '../../src/contract/event.js';
import { rejoinOnReset } from '../../src/operators/rejoin-on-reset.js';
import { shareMembership } from '../../src/operators/share-membership.js';
import { trackMembership } from '../../src/operators/track-membership.js';

const operators = { rejoinOnReset, shareMembership, trackMembership } as unknown as Readonly<
  Record<string, (options?: unknown) => never>
>;

describe.each(Object.entries(operators))('%s', (name, operator) => {
  it('names the option that it does not know', () => {
    expect(() => operator({ delay: 5 })).toThrow(TypeError);
    expect(() => operator({ delay: 5 })).toThrow(`delay is no option of ${name}(); options: `);
  });

  it.each([[null], [5], ['fast'], [[]]])('refuses %j for options', (options) => {
    expect(() => operator(options)).toThrow(TypeError);
    expect(() => operator(options)).toThrow(`the options of ${name}() are `);
  });

  it('says so when it was not called', () => {
    const source$ = NEVER as Observable<MulticastEvent>;
    expect(() => source$.pipe(operator as never)).toThrow(
      `${name} was given an Observable; write .pipe(${name}())`,
    );
  });

  it('takes undefined for absent', () => {
    expect(() => operator({ scheduler: undefined })).not.toThrow();
    expect(() => operator()).not.toThrow();
  });
});

describe('rejoinOnReset', () => {
  it('refuses a retryInitial that is neither true nor false', () => {
    expect(() => rejoinOnReset({ retryInitial: 'yes' as never })).toThrow(
      "retryInitial is 'yes'; expected true or false",
    );
  });
});
