// Asks a query of the package and gathers what it says, in a form that survives IPC.

/** What JSON lacks, as text. */
export const plain = (value) =>
  JSON.parse(
    JSON.stringify(value, (_key, one) =>
      typeof one === 'bigint' ? `${one}n` : one === Infinity ? 'Infinity' : one,
    ),
  );

/** The other way round. */
export const revived = (value) =>
  JSON.parse(JSON.stringify(value), (_key, one) =>
    typeof one === 'string' && /^\d+n$/.test(one) ? BigInt(one.slice(0, -1)) : one,
  );

/** Every record that `page[name](...args)` gives, and the code of the error it ended with, if any. */
export function askAll(page, name, args, provider) {
  const given = revived(args);
  const options = { ...given.pop(), provider };
  const records = [];
  return new Promise((resolve) => {
    page[name](...given, options).subscribe({
      next: (record) => records.push(record),
      error: (error) => resolve(plain({ records, code: error.code, message: error.message })),
      complete: () => resolve(plain({ records })),
    });
  });
}
