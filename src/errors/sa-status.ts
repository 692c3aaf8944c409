const NAMES: ReadonlyMap<number, string> = new Map([
  [0x0000, 'OK'],
  [0x0001, 'BUSY'],
  [0x0002, 'REDIRECT'],
  [0x0004, 'BAD_CLASS_OR_VERSION'],
  [0x0008, 'METHOD_UNSUPPORTED'],
  [0x000c, 'METHOD_ATTRIBUTE_UNSUPPORTED'],
  [0x001c, 'INVALID_VALUE'],
  [0x0100, 'NO_RESOURCES'],
  [0x0200, 'REQ_INVALID'],
  [0x0300, 'NO_RECORDS'],
  [0x0400, 'TOO_MANY_RECORDS'],
  [0x0500, 'REQ_INVALID_GID'],
  [0x0600, 'INSUFFICIENT_COMPONENTS'],
  [0x0700, 'REQ_DENIED'],
  [0x0800, 'PRIORITY_SUGGESTED'],
]);

/** The name of a MAD status of the subnet administrator, in host order; `'UNKNOWN'` for others. */
export function saStatusName(status: number): string {
  return NAMES.get(status) ?? 'UNKNOWN';
}
