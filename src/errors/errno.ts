/**
 * The Linux errno names by number, index 0 unused. Our own table, because statuses mean the same on
 * every platform here, while `os.constants.errno` is the table of the machine at hand, and because
 * Node has no name for ENETRESET. Two numbers, 41 and 58, were never assigned.
 */
const LINUX_ERRNO_NAMES: readonly (string | undefined)[] = (
  'OK EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ' +
  'ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ' +
  'ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP ' +
  '- ENOMSG EIDRM ECHRNG EL2NSYNC EL3HLT EL3RST ELNRNG EUNATCH ENOCSI EL2HLT EBADE EBADR EXFULL ' +
  'ENOANO EBADRQC EBADSLT - EBFONT ENOSTR ENODATA ETIME ENOSR ENONET ENOPKG EREMOTE ENOLINK EADV ' +
  'ESRMNT ECOMM EPROTO EMULTIHOP EDOTDOT EBADMSG EOVERFLOW ENOTUNIQ EBADFD EREMCHG ELIBACC ELIBBAD ' +
  'ELIBSCN ELIBMAX ELIBEXEC EILSEQ ERESTART ESTRPIPE EUSERS ENOTSOCK EDESTADDRREQ EMSGSIZE ' +
  'EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT EAFNOSUPPORT ' +
  'EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ' +
  'ENOTCONN ESHUTDOWN ETOOMANYREFS ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY ' +
  'EINPROGRESS ESTALE EUCLEAN ENOTNAM ENAVAIL EISNAM EREMOTEIO EDQUOT ENOMEDIUM EMEDIUMTYPE ' +
  'ECANCELED ENOKEY EKEYEXPIRED EKEYREVOKED EKEYREJECTED EOWNERDEAD ENOTRECOVERABLE ERFKILL EHWPOISON'
)
  .split(' ')
  .map((name) => (name === '-' ? undefined : name));

const ALIASES: ReadonlyMap<string, string> = new Map([
  ['EWOULDBLOCK', 'EAGAIN'],
  ['ENOTSUP', 'EOPNOTSUPP'],
  ['EDEADLOCK', 'EDEADLK'],
]);

/**
 * The name of a Linux errno of either sign: `'ENETRESET'` for 102 and for -102. `'UNKNOWN'` for 0
 * and for whatever Linux has no name for.
 */
export function errnoName(status: number): string {
  return (status === 0 ? undefined : LINUX_ERRNO_NAMES[Math.abs(status)]) ?? 'UNKNOWN';
}

/**
 * The negative Linux errno of a name, aliases included: -11 for `'EWOULDBLOCK'`. `undefined` when
 * Linux has no such name.
 */
export function errnoNumber(name: string): number | undefined {
  const index = LINUX_ERRNO_NAMES.indexOf(ALIASES.get(name) ?? name);
  return index > 0 ? -index : undefined;
}

/** The statuses that this package itself reports or decides by, negative. */
export const Errno = {
  ENOENT: -2,
  EIO: -5,
  EAGAIN: -11,
  EBUSY: -16,
  ENODEV: -19,
  EINVAL: -22,
  ENFILE: -23,
  EMFILE: -24,
  EPROTO: -71,
  EMSGSIZE: -90,
  EOPNOTSUPP: -95,
  EADDRNOTAVAIL: -99,
  ENETDOWN: -100,
  ENETRESET: -102,
  ESHUTDOWN: -108,
  ETIMEDOUT: -110,
} as const;
