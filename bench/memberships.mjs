// Many memberships at once, for the measurements.

/** Requests for `count` groups, each in a group of its own. */
export function requestsFor(provider, count, more = {}) {
  return Array.from({ length: count }, (_, index) => ({
    provider,
    record: {
      mgid: `ff12:be00::${Math.floor((index + 1) / 0x10000).toString(16)}:${((index + 1) % 0x10000).toString(16)}`,
      qkey: 0xb1b,
      pkey: 0xffff,
      trafficClass: 0,
      sl: 0,
      flowLabel: 0,
    },
    ...more,
  }));
}

/** Subscribes to all and resolves with the subscriptions once all are joined. */
export function joinAll(requests, join$) {
  return new Promise((resolve, reject) => {
    let missing = requests.length;
    const subscriptions = [];
    const observer = {
      next: (event) => {
        if (event.type === 'joined' && --missing === 0) resolve(subscriptions);
      },
      error: reject,
    };
    for (const request of requests) subscriptions.push(join$(request).subscribe(observer));
  });
}

/** Unsubscribes from all and waits until all have left. */
export async function leaveAll(provider, subscriptions) {
  for (const subscription of subscriptions) subscription.unsubscribe();
  await provider.idle();
}
