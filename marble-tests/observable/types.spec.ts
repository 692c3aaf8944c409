import { merge, of } from 'rxjs';
import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { describe, expectTypeOf, it } from 'vitest';
import {
  joinMulticast,
  joinMulticast$,
  joinMulticastAll$,
  rejoinOnReset,
  shareMembership,
  trackMembership,
  whileJoined,
} from '../../src/index.js';
import type {
  EmbeddedFabric,
  JoinRequest,
  JoinRequestWith,
  Membership,
  MembershipState,
  McMemberRecord,
  MulticastError,
  MulticastEvent,
  MulticastJoinedEvent,
  ProviderStats,
  RdmacmProvider,
  ResetReason,
  UmadProvider,
} from '../../src/index.js';

const record = { mgid: 'ff12::1' };

describe('types', () => {
  it('infers the context of joinMulticast$', () => {
    expectTypeOf(joinMulticast$({ record, context: 5 })).toEqualTypeOf<
      Observable<MulticastEvent<number>>
    >();
    expectTypeOf(joinMulticast$({ record })).toEqualTypeOf<Observable<MulticastEvent>>();
    expectTypeOf(joinMulticast$(() => ({ record, context: 'a' }))).toEqualTypeOf<
      Observable<MulticastEvent<string>>
    >();
    const maybe = { record } as JoinRequest<number>;
    expectTypeOf(joinMulticast$(maybe)).toEqualTypeOf<
      Observable<MulticastEvent<number | undefined>>
    >();
    expectTypeOf(joinMulticast$<Date>({ record })).toEqualTypeOf<
      Observable<MulticastEvent<Date | undefined>>
    >();
  });

  it('narrows events by type', () => {
    const event = {} as MulticastEvent<number>;
    if (event.type === 'joined') {
      expectTypeOf(event.record).toEqualTypeOf<McMemberRecord>();
      expectTypeOf(event.status).toEqualTypeOf<0>();
    } else {
      expectTypeOf(event.error).toEqualTypeOf<MulticastError>();
    }
    if (event.type === 'reset') expectTypeOf(event.reason).toEqualTypeOf<ResetReason>();
    expectTypeOf(event.context).toEqualTypeOf<number>();
  });

  it('keeps the type of the source through operators that pass events', () => {
    const source$ = joinMulticast$({ record, context: 5 });
    const stored = rejoinOnReset();
    expectTypeOf(source$.pipe(stored)).toEqualTypeOf(source$);
    expectTypeOf(source$.pipe(rejoinOnReset(), shareMembership())).toEqualTypeOf(source$);
    const both$ = merge(source$, joinMulticast$({ record, context: 'a' }));
    expectTypeOf(both$.pipe(stored)).toEqualTypeOf(both$);
    expectTypeOf(both$.pipe(shareMembership())).toEqualTypeOf(both$);
    expectTypeOf(rejoinOnReset()).toExtend<MonoTypeOperatorFunction<MulticastEvent<Date>>>();
    // A source of one kind of event only stays one.
    const joined$ = of({} as MulticastJoinedEvent<number>);
    expectTypeOf(joined$.pipe(stored)).toEqualTypeOf(joined$);
  });

  it('infers through whileJoined and trackMembership', () => {
    const source$ = joinMulticast$({ record, context: 5 });
    const inner$ = source$.pipe(
      rejoinOnReset(),
      whileJoined((joined) => {
        expectTypeOf(joined).toEqualTypeOf<MulticastJoinedEvent<number>>();
        return of(joined.record.mlid);
      }),
    );
    expectTypeOf(inner$).toEqualTypeOf<Observable<number>>();
    expectTypeOf(source$.pipe(whileJoined(() => Promise.resolve('a')))).toEqualTypeOf<
      Observable<string>
    >();
    const states$ = source$.pipe(rejoinOnReset(), trackMembership());
    expectTypeOf(states$).toEqualTypeOf<Observable<MembershipState<number>>>();
    const state = {} as MembershipState<number>;
    if (state.state === 'member') expectTypeOf(state.context).toEqualTypeOf<number>();
    if (state.state === 'outage') expectTypeOf(state.lastError).toEqualTypeOf<MulticastError>();
  });

  it('infers through joinMulticastAll$', () => {
    expectTypeOf(joinMulticastAll$([{ record, context: 5 }])).toEqualTypeOf<
      Observable<MulticastEvent<number>>
    >();
    expectTypeOf(joinMulticastAll$([{ record }])).toEqualTypeOf<Observable<MulticastEvent>>();
    expectTypeOf(joinMulticastAll$(of([{ record, context: 5 }]))).toEqualTypeOf<
      Observable<MulticastEvent<number>>
    >();
    expectTypeOf(
      joinMulticastAll$(new Set([{ record, context: 5 }]), { each: rejoinOnReset() }),
    ).toEqualTypeOf<Observable<MulticastEvent<number>>>();
  });

  it('infers through joinMulticast', () => {
    expectTypeOf<ReturnType<typeof joinMulticast<number>>>().toExtend<Promise<unknown>>();
    const call = () => joinMulticast({ record, context: 5 });
    expectTypeOf(call).returns.resolves.toEqualTypeOf<Membership<number>>();
    const bare = () => joinMulticast({ record });
    expectTypeOf(bare).returns.resolves.toEqualTypeOf<Membership>();
  });

  it('takes undefined where a field may be absent', () => {
    const device = undefined as string | undefined;
    const qkey = undefined as number | undefined;
    const request: JoinRequest = { device, record: { mgid: 'ff12::1', qkey } };
    expectTypeOf(joinMulticast$(request)).toEqualTypeOf<Observable<MulticastEvent>>();
    const operator = () => rejoinOnReset({ graceMs: qkey });
    expectTypeOf(operator).returns.toBeFunction();
  });

  it('names a request with a context', () => {
    const request: JoinRequestWith<number> = { record, context: 5 };
    expectTypeOf(joinMulticast$(request)).toEqualTypeOf<Observable<MulticastEvent<number>>>();
    expectTypeOf(joinMulticastAll$([request])).toEqualTypeOf<Observable<MulticastEvent<number>>>();
  });

  it('promises idle() and stats() of the providers of this package', () => {
    expectTypeOf<EmbeddedFabric['idle']>().returns.toEqualTypeOf<Promise<void>>();
    expectTypeOf<UmadProvider['stats']>().returns.toEqualTypeOf<ProviderStats>();
    expectTypeOf<RdmacmProvider['stats']>().returns.toEqualTypeOf<ProviderStats>();
  });

  it('refuses what is no request', () => {
    const calls = [
      // @ts-expect-error A port is a number.
      () => joinMulticast$({ record, port: '1' }),
      // @ts-expect-error There is no such field.
      () => joinMulticast$({ record: { mgid: 'ff12::1', qKey: 1 } }),
      // @ts-expect-error A selector has one of four names.
      () => joinMulticast$({ record: { mgid: 'ff12::1', mtuSelector: 'most' } }),
    ];
    expectTypeOf(calls).toBeArray();
  });
});
