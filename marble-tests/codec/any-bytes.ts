import fc from 'fast-check';

/** Bytes of a record, whatever they mean. */
export function anyBytes(length: number): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ minLength: length, maxLength: length });
}
