import type { MulticastProvider } from './provider.js';

/** Scopes joins to one provider and port; made by `registerSaClient()`. */
export interface SaClient {
  readonly provider: MulticastProvider;
  readonly device?: string;
  readonly port?: number;
  /** True until `unregister()` is called. */
  readonly registered: boolean;
  /** Refuses new work from now on; resolves when every membership made through it has left. */
  unregister(): Promise<void>;
}
