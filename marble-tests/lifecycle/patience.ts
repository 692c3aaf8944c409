/**
 * By how much longer a process may take than usual: under a sanitizer, node alone takes seconds to
 * start.
 */
export const patience = process.env.RXIB_INSTRUMENTED === undefined ? 1 : 8;
